--- Digests and an Ed25519 signature from the libcrypto that nginx is linked with.

local ffi = require("ffi")

ffi.cdef([[
typedef struct bignum_st BIGNUM;
typedef struct bignum_ctx BN_CTX;
typedef struct evp_md_st EVP_MD;
BIGNUM *BN_new(void);
BN_CTX *BN_CTX_new(void);
int BN_set_word(BIGNUM *a, unsigned long w);
int BN_dec2bn(BIGNUM **a, const char *str);
BIGNUM *BN_lebin2bn(const unsigned char *s, int len, BIGNUM *ret);
int BN_bn2lebinpad(const BIGNUM *a, unsigned char *to, int tolen);
int BN_num_bits(const BIGNUM *a);
int BN_is_bit_set(const BIGNUM *a, int n);
int BN_is_odd(const BIGNUM *a);
int BN_mod_mul(BIGNUM *r, const BIGNUM *a, const BIGNUM *b, const BIGNUM *m, BN_CTX *ctx);
int BN_mod_add_quick(BIGNUM *r, const BIGNUM *a, const BIGNUM *b, const BIGNUM *m);
int BN_mod_sub_quick(BIGNUM *r, const BIGNUM *a, const BIGNUM *b, const BIGNUM *m);
int BN_mod_add(BIGNUM *r, const BIGNUM *a, const BIGNUM *b, const BIGNUM *m, BN_CTX *ctx);
int BN_nnmod(BIGNUM *r, const BIGNUM *a, const BIGNUM *m, BN_CTX *ctx);
BIGNUM *BN_mod_inverse(BIGNUM *r, const BIGNUM *a, const BIGNUM *n, BN_CTX *ctx);
void BN_free(BIGNUM *a);
unsigned char *SHA1(const unsigned char *d, size_t n, unsigned char *md);
unsigned char *SHA256(const unsigned char *d, size_t n, unsigned char *md);
unsigned char *SHA512(const unsigned char *d, size_t n, unsigned char *md);
const EVP_MD *EVP_sha256(void);
unsigned char *HMAC(const EVP_MD *md, const void *key, int key_len, const unsigned char *d, size_t n,
                    unsigned char *out, unsigned int *out_len);
int CRYPTO_memcmp(const void *a, const void *b, size_t len);
typedef struct bio_st BIO;
typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_pkey_ctx_st EVP_PKEY_CTX;
BIO *BIO_new_mem_buf(const void *buf, int len);
int BIO_free(BIO *a);
EVP_PKEY *PEM_read_bio_PUBKEY(BIO *bp, EVP_PKEY **x, void *cb, void *u);
void EVP_PKEY_free(EVP_PKEY *key);
EVP_PKEY_CTX *EVP_PKEY_CTX_new(EVP_PKEY *pkey, void *e);
void EVP_PKEY_CTX_free(EVP_PKEY_CTX *ctx);
int EVP_PKEY_encrypt_init(EVP_PKEY_CTX *ctx);
int EVP_PKEY_CTX_set_rsa_padding(EVP_PKEY_CTX *ctx, int pad_mode);
int EVP_PKEY_encrypt(EVP_PKEY_CTX *ctx, unsigned char *out, size_t *outlen, const unsigned char *in, size_t inlen);
]])

local linked, found = pcall(function()
  return ffi.C.BN_new and ffi.C.HMAC and ffi.C
end)
local crypto = linked and found or ffi.load("libcrypto.so.3")

local M = {}

local function digest(name, size)
  local out = ffi.new("unsigned char[?]", size)
  return function(bytes)
    crypto[name](bytes, #bytes, out)
    return ffi.string(out, size)
  end
end

M.sha1 = digest("SHA1", 20)
M.sha256 = digest("SHA256", 32)
M.sha512 = digest("SHA512", 64)

--- HMAC with SHA-256, 32 bytes.
function M.hmac_sha256(key, bytes)
  local out = ffi.new("unsigned char[32]")
  crypto.HMAC(crypto.EVP_sha256(), key, #key, bytes, #bytes, out, nil)
  return ffi.string(out, 32)
end

--- Whether two strings are equal, in a time that does not tell where they differ.
function M.same(a, b)
  return #a == #b and crypto.CRYPTO_memcmp(a, b, #a) == 0
end

local function public_key(pem)
  local bio = crypto.BIO_new_mem_buf(pem, #pem)
  local key = crypto.PEM_read_bio_PUBKEY(bio, nil, nil, nil)
  crypto.BIO_free(bio)
  return key ~= nil and ffi.gc(key, crypto.EVP_PKEY_free) or nil
end

local oaep = 4

--- Enciphers with an RSA public key (PEM) and OAEP; nil and a reason when the key is none or too small.
function M.rsa_oaep(pem, bytes)
  local key = public_key(pem)
  local context = key and ffi.gc(crypto.EVP_PKEY_CTX_new(key, nil), crypto.EVP_PKEY_CTX_free)
  if not context or crypto.EVP_PKEY_encrypt_init(context) ~= 1 or crypto.EVP_PKEY_CTX_set_rsa_padding(context, oaep) ~= 1 then
    return nil, "not an RSA public key in PEM"
  end
  local out, length = ffi.new("unsigned char[1024]"), ffi.new("size_t[1]", 1024)
  if crypto.EVP_PKEY_encrypt(context, out, length, bytes, #bytes) ~= 1 then
    return nil, "too long for this RSA key"
  end
  return ffi.string(out, length[0])
end

local context

local function number()
  return ffi.gc(crypto.BN_new(), crypto.BN_free)
end

local function decimal(text)
  local holder = ffi.new("BIGNUM *[1]", crypto.BN_new())
  crypto.BN_dec2bn(holder, text)
  return ffi.gc(holder[0], crypto.BN_free)
end

local function from_bytes(bytes)
  local value = number()
  crypto.BN_lebin2bn(bytes, #bytes, value)
  return value
end

local function to_bytes(value)
  local out = ffi.new("unsigned char[32]")
  crypto.BN_bn2lebinpad(value, out, 32)
  return ffi.string(out, 32)
end

-- Constants of RFC 8032, section 5.1.
local prime, order, twice_d, base

local function constants()
  context = crypto.BN_CTX_new()
  prime = decimal("57896044618658097711785492504343953926634992332820282019728792003956564819949")
  order = decimal("7237005577332262213973186563042994240857116359379907606001950938285454250989")
  twice_d = decimal("16295367250680780974490674513165176452449235426866156013048779062215315747161")
  local x = decimal("15112221349535400772501151409588531511454012693041857206046113283949847762202")
  local y = decimal("46316835694926478169428394003475163141307993866256225615783033603165251855960")
  local t = number()
  crypto.BN_mod_mul(t, x, y, prime, context)
  base = { x = x, y = y, z = decimal("1"), t = t }
end

local function multiply(a, b)
  local r = number()
  crypto.BN_mod_mul(r, a, b, prime, context)
  return r
end

local function add(a, b)
  local r = number()
  crypto.BN_mod_add_quick(r, a, b, prime)
  return r
end

local function subtract(a, b)
  local r = number()
  crypto.BN_mod_sub_quick(r, a, b, prime)
  return r
end

-- Addition of points in extended coordinates (RFC 8032, section 5.1.4); complete, so it doubles too.
local function add_points(p, q)
  local a = multiply(subtract(p.y, p.x), subtract(q.y, q.x))
  local b = multiply(add(p.y, p.x), add(q.y, q.x))
  local c = multiply(multiply(p.t, twice_d), q.t)
  local zz = multiply(p.z, q.z)
  local d = add(zz, zz)
  local e, f, g, h = subtract(b, a), subtract(d, c), add(d, c), add(b, a)
  return { x = multiply(e, f), y = multiply(g, h), z = multiply(f, g), t = multiply(e, h) }
end

local function times_base(scalar)
  local sum = { x = decimal("0"), y = decimal("1"), z = decimal("1"), t = decimal("0") }
  for bit = crypto.BN_num_bits(scalar) - 1, 0, -1 do
    sum = add_points(sum, sum)
    if crypto.BN_is_bit_set(scalar, bit) == 1 then
      sum = add_points(sum, base)
    end
  end
  return sum
end

local function encode_point(p)
  local inverse = number()
  crypto.BN_mod_inverse(inverse, p.z, prime, context)
  local x, bytes = multiply(p.x, inverse), to_bytes(multiply(p.y, inverse))
  local top = bytes:byte(32) + (crypto.BN_is_odd(x) == 1 and 128 or 0)
  return bytes:sub(1, 31) .. string.char(top)
end

local function reduce(bytes)
  local r = number()
  crypto.BN_nnmod(r, from_bytes(bytes), order, context)
  return r
end

local function clamp(bytes)
  local low, top = bytes:byte(1), bytes:byte(32)
  return string.char(low - low % 8) .. bytes:sub(2, 31) .. string.char(top % 64 + 64)
end

--- Signs `message` with Ed25519 where `secret` (any length) stands for the seed, as MariaDB's plugin does.
-- About ten milliseconds: done once a connection, never once a request.
function M.ed25519(secret, message)
  if not base then
    constants()
  end
  local expanded = M.sha512(secret)
  local a = from_bytes(clamp(expanded:sub(1, 32)))
  local r = reduce(M.sha512(expanded:sub(33) .. message))
  local commitment, public = encode_point(times_base(r)), encode_point(times_base(a))
  local challenge = reduce(M.sha512(commitment .. public .. message))
  local product, s = number(), number()
  crypto.BN_mod_mul(product, challenge, a, order, context)
  crypto.BN_mod_add(s, product, r, order, context)
  return commitment .. to_bytes(s)
end

return M
