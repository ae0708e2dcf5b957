"""Certificates for the tests of TLS, and a gateway with an echo service as its backend."""

import pathlib
import ssl
import subprocess
import tempfile

ECHO = "campanile.rpc.v1.EchoService/Echo"
TOKEN = "internal-token-of-the-tls-tests-here"


class Authority:
    """A certificate authority for a test, created with `openssl`."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.certificate = str(folder / f"{name}.pem")
        self.key = str(folder / f"{name}.key")
        self._openssl(self.certificate, self.key, f"/CN={name}", "basicConstraints=critical,CA:TRUE")

    def issue(self, name, alternative_names):
        """Creates a certificate and its key. Returns their paths."""
        certificate, key = str(self.folder / f"{self.name}-{name}.pem"), str(self.folder / f"{self.name}-{name}.key")
        self._openssl(
            certificate, key, f"/CN={name}", f"subjectAltName={alternative_names}", "-CA", self.certificate, "-CAkey",
            self.key)
        return certificate, key

    @staticmethod
    def _openssl(certificate, key, subject, extension, *arguments):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", subject, "-addext", extension, "-keyout", key, "-out", certificate, *arguments],
            check=True, capture_output=True)
        pathlib.Path(key).chmod(0o600)


def context(authority, client=None):
    """Returns a client's TLS context that trusts `authority`."""
    made = ssl.create_default_context(cafile=authority.certificate)
    if client:
        made.load_cert_chain(*client)
    return made


def tls_flags(pki, mutual=False, server=None):
    certificate, key = server or pki.server
    client_ca = ["--tls-client-ca-file", pki.authority.certificate] if mutual else []
    return ["--tls-cert-file", certificate, "--tls-key-file", key, *client_ca]


def start_gateway(start, backend, *flags):
    return start(
        "campanile-gateway", "--data-dir", tempfile.mkdtemp(dir=backend.log_path.parent), "--backends",
        f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{backend.port}", *flags, internal_token=TOKEN)
