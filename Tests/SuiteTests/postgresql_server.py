"""A PostgreSQL server for tests, on a socket in a folder of its own.

`python postgresql_server.py COMMAND …` runs a command with a server that has the suite's databases, and ends the server.
`CAMPANILE_TEST_SERVER` is the folder of its socket.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Wire"))
from wire_store import DATABASES  # noqa: E402

INSTALLED = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
POSTGRESQL = INSTALLED[-1] if INSTALLED else pathlib.Path("/usr/lib/postgresql/15/bin")


class Server:
    """A server, by default without fsync, because tests survive no power loss."""

    def __init__(self, folder, fsync=False):
        self.fsync = "on" if fsync else "off"
        assert (POSTGRESQL / "postgres").exists(), "install Debian's postgresql"
        assert int(POSTGRESQL.parent.name) >= 15
        self.folder = folder
        for parent in folder.parents[:3]:
            if parent.owner() == "root" and parent != pathlib.Path("/tmp"):
                parent.chmod(0o711)
        folder.chmod(0o755)
        self.user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        data = folder / "data"
        data.mkdir()
        if self.user:
            shutil.chown(data, "postgres")
            shutil.chown(folder, "postgres")
        self.run("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync", "-U", "postgres")
        self.start()

    def start(self):
        options = f"-k {self.folder} -c listen_addresses='' -c fsync={self.fsync} -c max_connections=600"
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "log", "-o", options, "start")

    def run(self, program, *arguments, **options):
        return subprocess.run([*self.user, str(POSTGRESQL / program), *map(str, arguments)], check=True, capture_output=True,
                              text=True, cwd=self.folder, timeout=120, **options).stdout

    def create(self, database):
        self.run("createdb", "-h", self.folder, "-U", "postgres", "-T", "template0", database)

    def script(self, database, text):
        """The output of a script, errors included."""
        return subprocess.run(
            [*self.user, str(POSTGRESQL / "psql"), "-h", str(self.folder), "-U", "postgres", "-X", "-q", database], input=text,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder, timeout=120).stdout

    def stop(self):
        """Ends all processes of the server at once, as a crash would. Does nothing if the server has ended."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")


def main(command):
    with tempfile.TemporaryDirectory(prefix="campanile-") as folder:
        server = Server(pathlib.Path(folder))
        try:
            for database in DATABASES:
                server.create(database)
            return subprocess.run(command, env=os.environ | {"CAMPANILE_TEST_SERVER": folder}).returncode
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
