--- Digests and RSA from the libcrypto that nginx is linked with.

local ffi = require("ffi")

ffi.cdef([[
typedef struct evp_md_st EVP_MD;
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
  return ffi.C.HMAC and ffi.C
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

--- Enciphers with an RSA public key (PEM) and OAEP; nil and a reason when the key is invalid or too small.
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

return M
