<?php

declare(strict_types=1);

const TOLERANCE_SECONDS = 300;

/** True if the delivery is fresh and signed with the secret. The body must be the raw bytes. */
function is_genuine(string $id, string $timestamp, string $signatures, string $body, string $secret): bool
{
    if (preg_match('/^\d{1,12}$/D', $timestamp) !== 1) {
        return false;
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $key = base64_decode(substr($secret, strlen('whsec_')), true);
    if ($key === false || $key === '') {
        return false;
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    // While a secret is being replaced there are two signatures, with a space between.
    foreach (explode(' ', $signatures) as $signature) {
        if (hash_equals($expected, $signature)) {
            return true;
        }
    }
    return false;
}

$body = (string) file_get_contents('php://input');
$genuine = is_genuine(
    $_SERVER['HTTP_WEBHOOK_ID'] ?? '',
    $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '',
    $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '',
    $body,
    (string) getenv('WEBHOOK_SECRET'), // whsec_…
);
if (!$genuine) {
    http_response_code(401);
    exit;
}
$delivery = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
// Store it and answer; work on it afterwards. The id is the same if it comes again.
error_log("{$delivery['id']} {$delivery['event']}");
http_response_code(204);
