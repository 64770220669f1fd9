// SPDX-License-Identifier: Apache-2.0

// Encryption copies an array to a new one with encrypted chunks, and reads it back. The
// codec for encryption is part of the program. The key is 32 hexadecimal digits in the
// environment variable VARVE_EXAMPLE_KEY. Metadata is not encrypted.
//
//	encryption t2m.zarr secret.zarr
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"os"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// name is the name of the codec in metadata. Names with a dot are open to all programs.
const name = "example.aes"

func init() { codec.Register(name, newSealed) }

// sealed encrypts bytes with AES-GCM. Damaged or foreign bytes do not decrypt.
type sealed struct {
	key  []byte
	aead cipher.AEAD
}

// newSealed is the factory of the codec. Without the key, arrays with this codec cannot
// be opened.
func newSealed([]byte) (any, error) {
	key, err := hex.DecodeString(os.Getenv("VARVE_EXAMPLE_KEY"))
	if err != nil || len(key) != 16 {
		return nil, fmt.Errorf("%w: VARVE_EXAMPLE_KEY has no 32 hexadecimal digits", codec.ErrConfiguration)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &sealed{key, aead}, err
}

// MaxEncoded implements [codec.BytesBytes].
func (s *sealed) MaxEncoded(n int64) int64 {
	return n + int64(s.aead.NonceSize()+s.aead.Overhead())
}

// Encode implements [codec.BytesBytes]. The nonce depends only on the bytes, so equal
// chunks are stored as equal bytes.
func (s *sealed) Encode(dst, src []byte) ([]byte, error) {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(src)
	nonce := mac.Sum(nil)[:s.aead.NonceSize()]
	return s.aead.Seal(append(dst, nonce...), nonce, src, nil), nil
}

// Decode implements [codec.BytesBytes].
func (s *sealed) Decode(dst, src []byte, most int64) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(src) < n+s.aead.Overhead() {
		return dst, codec.ErrCorrupt
	}
	if int64(len(src)-n-s.aead.Overhead()) > most {
		return dst, codec.ErrTooLong
	}
	out, err := s.aead.Open(dst, src[:n], src[n:], nil)
	if err != nil {
		return dst, codec.ErrCorrupt
	}
	return out, nil
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: encryption ARRAY RESULT")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, source, result string) error {
	a, err := zarr.OpenArray(ctx, source, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	spec := a.Spec()
	spec.Codecs = append(spec.Codecs, metadata.Extension{Name: name})
	b, err := zarr.CreateArray(ctx, result, spec, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	for c := range a.Chunks() {
		data, err := a.ReadChunk(ctx, c.Index)
		if err != nil {
			return err
		}
		if err := b.WriteChunk(ctx, c.Index, data); err != nil {
			return err
		}
	}
	d, err := zarr.Compare(ctx, a, b)
	if err == nil && d != nil {
		err = fmt.Errorf("the copy differs: %v", d)
	}
	return err
}
