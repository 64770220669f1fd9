// SPDX-License-Identifier: Apache-2.0

// Package byteorder reorders elements in memory. It transposes planes, and reverses the
// byte order of numbers.
//
// Processors with AVX2 use assembly that tools/byteorder generates. Others, and programs
// with the build tag purego, use 64-bit arithmetic.
package byteorder

//go:generate go -C ../../tools run ./byteorder -out ../internal/byteorder/avx2_amd64.s -stubs ../internal/byteorder/avx2_amd64.go -pkg byteorder

import "encoding/binary"

// Little reports whether the host stores the least significant byte of a number first.
func Little() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }
