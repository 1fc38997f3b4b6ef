"""Reads docs/protocol-vectors.json as docs/protocol.md describes it: hashes, layouts, Ed25519 signatures, canonical
JSON, and the generator of directions."""

import hashlib
import json
import math
import struct
import sys
import urllib.parse
from fractions import Fraction

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


def check_request(vectors, name, method, path):
    request = vectors[name]
    assert (request["method"], request["path"]) == (method, path)
    body = bytes.fromhex(request["body"])
    parts = [method.encode(), path.encode(), body]
    signed = named("foltr request", b"".join(struct.pack("<Q", len(part)) + part for part in parts))
    verify(bytes.fromhex(vectors["keys"]["device"]["public"]), signed, bytes.fromhex(request["signature"]))
    return Reader(body)


def check_invitation(vectors):
    """The secret and the path of the address."""
    invitation = vectors["invitation"]
    address, _, rest = invitation["text"].partition("#")
    key, _, secret = rest.partition(".")
    assert (address, key, secret) == (invitation["address"], invitation["key"], invitation["secret"])
    assert key == vectors["keys"]["next"]["fingerprint"] and len(bytes.fromhex(secret)) == 32
    parts = urllib.parse.urlsplit(address)
    assert (parts.scheme, parts.query, parts.fragment, parts.username) == ("https", "", "", None)
    assert parts.path == invitation["path"] and not parts.path.endswith("/")
    return secret, parts.path


def check_membership(vectors, plan):
    secret, path = check_invitation(vectors)
    device, federation = vectors["keys"]["device"], vectors["keys"]["next"]
    read = check_request(vectors, "enrolment_request", "POST", path + "/devices")
    assert (read.u(1), read.hex(), read.hex(), read.data) == (2, secret, device["public"], b"")
    read = check_signed(vectors["enrolment"], federation["public"])
    assert (read.u(1), read.hex(), read.u(4)) == (2, device["device_id"], 4)
    assert (read.hex(), read.hex(), read.data) == (federation["public"], plan, b"")
    read = Reader(bytes.fromhex(vectors["headers"]["bytes"]))
    assert read.u(4) == len(vectors["releases"])
    for release in vectors["releases"]:
        header = read.take(read.u(4))
        assert header.hex() + struct.pack(f"<{len(release['params'])}f", *release["params"]).hex() == release["bytes"]
    assert not read.data
    read = check_request(vectors, "forget_request", "POST", path + "/forget")
    assert (read.u(1), read.hex(), read.hex(), read.data) == (2, device["device_id"], plan, b"")


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
    path = f"/v1/federations/demo/rounds/3/contributions/{device}"
    body = check_request(vectors, "request", "PUT", path).data
    assert body.hex() == vectors["contributions"][0]["bytes"]
    read = check_signed(vectors["contribution_receipt"], vectors["keys"]["next"]["public"])
    assert (read.u(1), read.hex(), read.u(4), read.hex()) == (2, plan, 3, device)
    assert (read.hex(), read.u(8), read.data) == (vectors["contributions"][0]["hash"], 1_800_000_000, b"")


# From a seed to a direction. Arithmetic is binary32, and exact before it is rounded.


def rounded(exact):
    """The nearest binary32 number, ties to even. Numbers here are far from the ends of its range."""
    if exact == 0:
        return Fraction(0)
    exponent = math.floor(math.log2(abs(exact)))
    exponent += (abs(exact) >= Fraction(2) ** (exponent + 1)) - (abs(exact) < Fraction(2) ** exponent)
    unit = Fraction(2) ** (exponent - 23)
    return round(exact / unit) * unit


def bits(number):
    return struct.unpack("<I", struct.pack("<f", float(number)))[0]


def of_bits(pattern):
    return Fraction(struct.unpack("<f", struct.pack("<I", pattern))[0])


def constant(decimal):
    return rounded(Fraction(decimal))


def horner(x, decimals):
    value = constant(decimals[0])
    for decimal in decimals[1:]:
        value = rounded(value * x + constant(decimal))
    return value


LN = "0.070376836 -0.1151461 0.11676998 -0.12420141 0.1424932 -0.16668057 0.20000714 -0.24999994 0.3333333".split()
SINE = "1.6044118e-4 -4.681754e-3 7.9692626e-2 -0.6459641 1.5707963".split()
COSINE = "-2.5202043e-5 9.192603e-4 -2.086348e-2 0.2536695 -1.2337006 1".split()


def logarithm(x):
    shifted = (bits(x) - 0x3F3504F3) % 2**32
    mantissa = of_bits((shifted & 0x7FFFFF) + 0x3F3504F3)
    exponent = (shifted if shifted < 2**31 else shifted - 2**32) >> 23
    f = rounded(mantissa - 1)
    square = rounded(f * f)
    small = rounded(rounded(rounded(square * f) * horner(f, LN) - square / 2) + f)
    return rounded(exponent * constant("0.693147180559945309") + small)


def root(x):
    # Twice as many digits as needed, then rounded: no tie can lie between.
    return rounded(Fraction(math.isqrt(int(x * 2**200)), 2**100))


def sine_and_cosine(word):
    quarter = ((word + 2**29) % 2**32) >> 30
    rest = (word - (quarter << 30)) % 2**32
    rest = rounded(Fraction(rest if rest < 2**31 else rest - 2**32)) / 2**30
    square = rounded(rest * rest)
    sine, cosine = rounded(rest * horner(square, SINE)), horner(square, COSINE)
    sine, cosine = (cosine, sine) if quarter & 1 else (sine, cosine)
    return -sine if quarter & 2 else sine, -cosine if (quarter + 1) & 2 else cosine


def quarter_round(state, a, b, c, d):
    for first, second, third, turn in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
        state[first] = (state[first] + state[second]) % 2**32
        mixed = state[third] ^ state[first]
        state[third] = (mixed << turn | mixed >> (32 - turn)) % 2**32


def block(key, counter):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, counter, 0, 0, 0]
    state = list(start)
    for _ in range(4):
        for i in range(4):
            quarter_round(state, i, i + 4, i + 8, i + 12)
        for i in range(4):
            quarter_round(state, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)
    return [(a + b) % 2**32 for a, b in zip(state, start)]


def direction(seed, n):
    state, key, normals = seed, [], []
    for _ in range(8):
        state = (state * 0x5851F42D4C957F2D + 0xA17654E46FBE17F3) % 2**64
        mixed, turn = ((state >> 18 ^ state) >> 27) % 2**32, state >> 59
        key.append((mixed >> turn | mixed << (32 - turn)) % 2**32)
    for counter in range(-(-n // 16)):
        words = block(key, counter)
        plus, minus = [], []
        for radius, angle in zip(words[:8], words[8:]):
            uniform = rounded(rounded(rounded(Fraction(radius >> 1)) + Fraction(1, 2)) / 2**31)
            uniform = min(uniform, 1 - Fraction(1, 2**24))
            length = root(max(rounded(-2 * logarithm(uniform)), Fraction(0)))
            sine, cosine = sine_and_cosine(angle)
            plus.append(rounded(length * cosine))
            minus.append(rounded(length * sine))
        normals += plus + minus
    return normals[:n]


def check_directions(vectors):
    for vector in vectors["directions"]:
        found = [f"{bits(value):08x}" for value in direction(vector["seed"], len(vector["bits"]))]
        assert found == vector["bits"], (found, vector["bits"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)
    check_keys(vectors["keys"])
    check_json(vectors)
    plan = vectors["plan"]["signed"]["hash"]
    newest = check_releases(vectors, plan)
    check_task(vectors, plan, newest)
    check_contributions(vectors, plan, newest)
    check_membership(vectors, plan)
    private = vectors["private_plan"]
    assert canonical(json.loads(private)) == private
    check_directions(vectors)


main()
