"""Reads docs/protocol-vectors.json as docs/protocol.md describes it: hashes, layouts, Ed25519 signatures, canonical JSON."""

import hashlib
import json
import struct
import sys

# Ed25519 (RFC 8032, section 5.1): the field, the curve, and points as extended coordinates (X, Y, Z, T).
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    e, f = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    g, h = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    m, n, o, q = f - e, h - g, h + g, f + e
    return m * n % P, o * q % P, n * o % P, m * q % P


def times(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def point(encoded):
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    assert y < P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert x * x % P == square, "not a point of the curve"
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def is_same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verify(public, message, signature):
    commitment, response = signature[:32], int.from_bytes(signature[32:], "little")
    assert response < ORDER
    challenge = int.from_bytes(hashlib.sha512(commitment + public + message).digest(), "little") % ORDER
    right = add(point(commitment), times(challenge, point(public)))
    assert is_same(times(response, BASE), right), "the signature does not fit"


def named(name, body):
    return struct.pack("<Q", len(name)) + name.encode() + body


def sha(data):
    return hashlib.sha256(data).hexdigest()


def number(value):
    """A number as ECMAScript writes it."""
    if isinstance(value, int):
        return str(value)
    digits, exponent = f"{value!r}e0".split("e")[:2] if "e" in repr(value) else (repr(value), "0")
    sign, digits = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
    whole, _, fraction = digits.partition(".")
    point_at = len(whole) + int(exponent)
    significant = (whole + fraction).lstrip("0")
    point_at -= len(whole + fraction) - len(significant)
    significant = significant.rstrip("0") or "0"
    if -6 < point_at <= 0:
        return sign + "0." + "0" * -point_at + significant
    if 0 < point_at <= 21:
        padded = significant.ljust(point_at, "0")
        return sign + padded[:point_at] + ("." + padded[point_at:] if padded[point_at:] else "")
    mantissa = significant[0] + ("." + significant[1:] if significant[1:] else "")
    return f"{sign}{mantissa}e{'+' if point_at > 0 else '-'}{abs(point_at - 1)}"


def canonical(value):
    """RFC 8785."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, n):
        assert len(self.data) >= n, "bytes are missing"
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def u(self, n):
        return int.from_bytes(self.take(n), "little")

    def hex(self):
        return self.take(32).hex()

    def option(self, read):
        flag = self.u(1)
        assert flag in (0, 1)
        return read() if flag else None


def check_signed(vector, public):
    data = bytes.fromhex(vector["bytes"])
    check_document(vector, data[:64], data[64:], public)
    return Reader(data[64:])


def check_document(vector, signature, body, public):
    message = named(vector["name"], body)
    assert sha(message) == vector["hash"], vector["name"]
    verify(bytes.fromhex(public), message, signature)


def check_keys(keys):
    for key in keys.values():
        public = bytes.fromhex(key["public"])
        seed = bytearray(hashlib.sha512(bytes.fromhex(key["secret"])).digest()[:32])
        seed[0] &= 248
        seed[31] = seed[31] & 63 | 64
        assert is_same(times(int.from_bytes(seed, "little"), BASE), point(public))
        assert sha(named("foltr key", public)) == key["fingerprint"]
        assert sha(named("foltr device id", public)) == key["device_id"]


def check_json(vectors):
    schema = vectors["feature_schema"]
    assert canonical(json.loads(schema["text"])) == schema["text"]
    assert sha(named(schema["name"], schema["text"].encode())) == schema["hash"]
    text = vectors["plan"]["text"]
    plan = json.loads(text)
    assert canonical(plan) == text, canonical(plan)
    assert plan["protocol"] == 2 and plan["features"] == schema["hash"] and plan["simulated"] is False
    read = check_signed(vectors["plan"]["signed"], vectors["keys"]["federation"]["public"])
    assert read.data == text.encode()


def check_releases(vectors, plan):
    previous = None
    for version, release in enumerate(vectors["releases"]):
        data = bytes.fromhex(release["bytes"])
        params = struct.pack(f"<{len(release['params'])}f", *release["params"])
        header = data[: -len(params)]
        assert data.endswith(params)
        assert sha(named("foltr model", struct.pack("<Q", len(release["params"])) + params)) == release["model"]
        check_document(release, header[:64], header[64:], release["signed_by"])
        read = Reader(header[64:])
        assert (read.u(1), read.u(4), read.hex(), read.u(4), read.hex()) == (2, version, plan, 0, release["model"])
        assert read.option(read.hex) == previous
        next_key = read.option(read.hex)
        assert next_key == (vectors["keys"]["next"]["public"] if version == 1 else None)
        assert not read.data
        previous = release["hash"]
    return len(vectors["releases"]) - 1, previous


def check_task(vectors, plan, newest):
    read = check_signed(vectors["task"], vectors["keys"]["next"]["public"])
    assert (read.u(1), read.hex(), read.u(4), read.u(4)) == (2, plan, 3, 0)
    assert (read.u(4), read.hex()) == newest
    assert read.option(lambda: struct.unpack("<f", read.take(4))[0]) == 0.5
    assert (read.u(8), read.u(4)) == (1_800_003_600, 20)
    lottery = vectors["lottery"]
    assert read.option(lambda: (read.hex(), read.u(8))) == (lottery["value"], int(lottery["threshold"]))
    assert not read.data
    for device in lottery["devices"]:
        drawn = hashlib.sha256(named("foltr lottery", bytes.fromhex(lottery["value"] + device["device"]))).digest()
        is_invited = int.from_bytes(drawn[:8], "little") < int(lottery["threshold"])
        assert is_invited == device["invited"], device


def check_contributions(vectors, plan, newest):
    device = vectors["keys"]["device"]["device_id"]
    contents = ["<Iff", "<If", "<Iff", "<Bff"]
    values = [(4, 1.0, -2.0), (7, 0.5), (7, 0.5, 1.0), (1, 1.0, -2.0)]
    for kind, (contribution, layout, content) in enumerate(zip(vectors["contributions"], contents, values), 1):
        data = bytes.fromhex(contribution["bytes"])
        assert sha(named("foltr contribution", data)) == contribution["hash"]
        read = Reader(data)
        assert (read.u(1), read.u(1), read.hex(), read.u(4)) == (2, kind, plan, 3)
        assert (read.u(4), read.hex()) == newest and read.hex() == device
        assert struct.unpack(layout, read.data) == content
    request = vectors["request"]
    parts = [request["method"].encode(), request["path"].encode(), bytes.fromhex(request["body"])]
    signed = named("foltr request", b"".join(struct.pack("<Q", len(part)) + part for part in parts))
    verify(bytes.fromhex(vectors["keys"]["device"]["public"]), signed, bytes.fromhex(request["signature"]))
    read = check_signed(vectors["contribution_receipt"], vectors["keys"]["next"]["public"])
    assert (read.u(1), read.hex(), read.u(4), read.hex()) == (2, plan, 3, device)
    assert (read.hex(), read.u(8), read.data) == (vectors["contributions"][0]["hash"], 1_800_000_000, b"")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)
    check_keys(vectors["keys"])
    check_json(vectors)
    plan = vectors["plan"]["signed"]["hash"]
    newest = check_releases(vectors, plan)
    check_task(vectors, plan, newest)
    check_contributions(vectors, plan, newest)


main()
