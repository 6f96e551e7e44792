--- An Ed25519 signature with a password of any length as its seed, as MariaDB's plugin client_ed25519 makes it.
--
-- RFC 8032, section 5.1.6, on libsodium's arithmetic: about fifty microseconds, in a time that tells nothing of the secret.
-- libsodium's own signing, and OpenSSL's, take a seed of 32 bytes only.

local ffi = require("ffi")
local crypto = require("ratelimit.wire.crypto")

ffi.cdef([[
int sodium_init(void);
int crypto_scalarmult_ed25519_base(unsigned char *point, const unsigned char *scalar);
int crypto_scalarmult_ed25519_base_noclamp(unsigned char *point, const unsigned char *scalar);
void crypto_core_ed25519_scalar_reduce(unsigned char *reduced, const unsigned char *wide);
void crypto_core_ed25519_scalar_mul(unsigned char *product, const unsigned char *x, const unsigned char *y);
void crypto_core_ed25519_scalar_add(unsigned char *sum, const unsigned char *x, const unsigned char *y);
]])

local M = {}

M.library = "libsodium.so.23"

local sodium

local function load()
  local found, loaded = pcall(ffi.load, M.library)
  if found and loaded.sodium_init() >= 0 then
    sodium = loaded
  end
  return sodium
end

local function bytes_from(fill, ...)
  local out = ffi.new("unsigned char[32]")
  fill(out, ...)
  return ffi.string(out, 32)
end

local function reduce(wide)
  return bytes_from(sodium.crypto_core_ed25519_scalar_reduce, wide)
end

local function clamp(bytes)
  local low, top = bytes:byte(1), bytes:byte(32)
  return string.char(low - low % 8) .. bytes:sub(2, 31) .. string.char(top % 64 + 64)
end

--- Signs `message`, where `secret` (any length) stands for the seed; nil and a reason without libsodium.
function M.sign(secret, message)
  if not (sodium or load()) then
    return nil, "authentication by client_ed25519 needs libsodium (" .. M.library .. "; apt-get install libsodium23)"
  end
  local expanded = crypto.sha512(secret)
  local scalar = clamp(expanded:sub(1, 32))
  local nonce = reduce(crypto.sha512(expanded:sub(33) .. message))
  local commitment = bytes_from(sodium.crypto_scalarmult_ed25519_base_noclamp, nonce)
  local public = bytes_from(sodium.crypto_scalarmult_ed25519_base, scalar)
  local challenge = reduce(crypto.sha512(commitment .. public .. message))
  local key = reduce(scalar .. ("\0"):rep(32))
  local product = bytes_from(sodium.crypto_core_ed25519_scalar_mul, challenge, key)
  return commitment .. bytes_from(sodium.crypto_core_ed25519_scalar_add, product, nonce)
end

return M
