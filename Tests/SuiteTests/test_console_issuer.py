"""The console's sign-in at a token issuer: another project's OpenID provider, a browser and real processes."""

import json
import urllib.request

import pytest
from campanile import Suite
from console_browser import CountingProxy, Visitor, browser, expect, needs_chromium

provider = pytest.importorskip("oidc_provider_mock")
pytestmark = needs_chromium
__all__ = ["browser"]
# The provider's page loads a style sheet of a third party, and has no icon.
FOREIGN = ("ERR_NAME_NOT_RESOLVED", "404 (NOT FOUND)")


@pytest.fixture(scope="module")
def issuer():
    with provider.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(scope="module")
def base(issuer, tmp_path_factory):
    """A suite behind an address that is known before it starts, because the console's URL is a setting."""
    folder = tmp_path_factory.mktemp("issuer")
    with urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration") as response:
        keys = json.load(response)["jwks_uri"]
    with urllib.request.urlopen(keys) as response:
        (folder / "keys.json").write_bytes(response.read())
    with CountingProxy(0, b"never") as proxy:
        base = f"http://127.0.0.1:{proxy.port}"
        running = Suite(folder / "data", settings={
            "CAMPANILE_JWT_JWKS_FILE": str(folder / "keys.json"), "CAMPANILE_JWT_ISSUER": issuer,
            "CAMPANILE_JWT_AUDIENCES": "campanile", "CAMPANILE_JWT_SUBJECT_PREFIX": "idp.",
            "CAMPANILE_CONSOLE_URL": f"{base}/console", "CAMPANILE_CONSOLE_CLIENT_ID": "campanile-console",
            "CAMPANILE_CONSOLE_CLIENT_SECRET": "s3cret"}).wait_ready()
        proxy.target = running.endpoints["gateway"]["http"]
        yield base
        running.stop()


def at_issuer(visitor, issuer):
    """Opens the console and follows its link to the issuer's page."""
    visitor.open()
    visitor.page.get_by_role("link", name=f"Sign in at {issuer.removeprefix('http://')}").click()
    visitor.page.get_by_role("heading", name="Authorize Client").wait_for()


def test_account_at_the_issuer_opens_the_console(browser, base, issuer):
    with Visitor(browser, base, expected=FOREIGN) as visitor:
        at_issuer(visitor, issuer)
        visitor.page.get_by_placeholder("sub").fill("ada")
        visitor.page.get_by_role("button", name="Authorize").click()
        visitor.page.locator("main#main h1, main#main .fill").first.wait_for()
        assert visitor.page.url.startswith(f"{base}/console/#/")
        headers = {"x-campanile-console": "1"}
        caller = visitor.page.evaluate(
            "async ([url, headers]) => (await fetch(url, { headers })).json()", [f"{base}/gateway/v1/caller", headers])
        assert caller["caller"]["principal"] == "user/idp.ada"
        sessions = visitor.page.evaluate(
            "async ([url, headers]) => (await fetch(url, { headers })).json()", [f"{base}/gateway/v1/consoleSessions", headers])
        assert [session["method"] for session in sessions["sessions"]] == ["SIGN_IN_METHOD_ISSUER"]
        # The cookie of the sign-in is gone; that of the session is not for scripts.
        cookies = {cookie["name"]: cookie for cookie in visitor.context.cookies(base)}
        assert set(cookies) == {"campanile_console"} and cookies["campanile_console"]["httpOnly"]
        assert visitor.page.evaluate("document.cookie") == ""


@pytest.mark.parametrize("language, text", [("en", "The token issuer refused the sign-in."), ("it", "ha rifiutato l’accesso")])
def test_refusal_leads_back_to_the_sign_in(browser, base, issuer, language, text):
    with Visitor(browser, base, language=language, expected=FOREIGN) as visitor:
        visitor.open()
        visitor.page.get_by_role("link", name=issuer.removeprefix("http://")).click()
        visitor.page.get_by_role("button", name="Deny").click()
        expect(visitor.page.get_by_role("alert")).to_contain_text(text)
        assert visitor.page.url == f"{base}/console/#/"
        visitor.check_accessibility("sign-in")


def test_response_of_another_browser_is_refused(browser, base, issuer):
    with Visitor(browser, base, expected=FOREIGN) as visitor, Visitor(browser, base, expected=FOREIGN) as other:
        at_issuer(visitor, issuer)
        # The issuer's response, before the browser follows it.
        answer = visitor.context.request.post(visitor.page.url, form={"sub": "ada"}, max_redirects=0)
        assert answer.status == 302
        other.page.goto(answer.headers["location"])
        expect(other.page.get_by_role("alert")).to_contain_text("could not be finished")
