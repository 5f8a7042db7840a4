"""A CA of the test's own, and certificates of it."""

import subprocess


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


def make_ca(directory, name="ca"):
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", f"{directory}/{name}.key", "-out", f"{directory}/{name}.pem", "-days", "2",
             "-subj", f"/CN={name}")


def make_certificate(directory, name, ca="ca", alternative="IP:127.0.0.1"):
    _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", f"{directory}/{name}.key", "-out", f"{directory}/{name}.csr",
             "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}")
    _openssl("x509", "-req", "-in", f"{directory}/{name}.csr", "-CA", f"{directory}/{ca}.pem",
             "-CAkey", f"{directory}/{ca}.key", "-CAcreateserial", "-days", "2",
             "-copy_extensions", "copy", "-out", f"{directory}/{name}.pem")
