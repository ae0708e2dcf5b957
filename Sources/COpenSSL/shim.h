#ifndef CAMPANILE_COPENSSL_SHIM_H
#define CAMPANILE_COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#endif
