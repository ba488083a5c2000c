import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
assert len(KEY) == 32, "WEBHOOK_SECRET must be the secret as it was shown: whsec_..."
PORT = int(os.environ.get("PORT", "8080"))
TOLERANCE_SECONDS = 300
BODY_BYTES_MAX = 1024 * 1024


def is_genuine(headers, body: bytes, key: bytes) -> bool:
    """Whether the delivery is signed with the key, and fresh. The body: the bytes as they came."""
    delivery_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # While a secret is being replaced there are two signatures, with a space between.
    signatures = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected, each.encode()) for each in signatures)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("content-length", "0"))
        if not 0 <= length <= BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(length)
        if not is_genuine(self.headers, body, KEY):
            return self.answer(401)
        delivery = json.loads(body)
        # Store it and answer; work on it afterwards. The id is the same if it comes again.
        print(delivery["id"], delivery["event"], delivery["data"])
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
