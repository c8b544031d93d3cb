"""nginx with one file to fetch."""

from pathlib import Path

_CONFIGURATION = """\
daemon off;
master_process off;
user root;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    sendfile on;
    {options}
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    server {{
        listen {port}{tls};
        listen [::]:{port}{tls};
        root {folder}/www;
    }}
}}
"""


def prepare(
    folder: Path, port: int, file: str, size: int, options: str = "", tls: bool = False
) -> list[str]:
    """Makes the folder, with a file of `size` bytes; returns the command that serves it. With
    `options`, lines of its configuration, and with `tls` by HTTPS: then `cert.pem` and `key.pem`
    have to be in the folder when it is started.
    """
    folder.mkdir()
    (folder / "www").mkdir()
    with (folder / "www" / file).open("wb") as opened:
        # Has no blocks on the disk.
        opened.truncate(size)
    if tls:
        options += f"\n    ssl_certificate {folder}/cert.pem;"
        options += f"\n    ssl_certificate_key {folder}/key.pem;"
    configuration = folder / "nginx.conf"
    text = _CONFIGURATION.format(
        folder=folder, port=port, options=options, tls=" ssl" if tls else ""
    )
    configuration.write_text(text, encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(configuration)]
