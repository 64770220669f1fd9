// Package byteorder moves elements between memory whose order is not the same: planes of
// rows to planes of columns, and numbers to the other byte order.
//
// Processors with AVX2 use assembly that tools/byteorder generates; all others, and
// programs built with the tag purego, use 64-bit arithmetic.
package byteorder

//go:generate go -C ../../tools run ./byteorder -out ../internal/byteorder/avx2_amd64.s -stubs ../internal/byteorder/avx2_amd64.go -pkg byteorder
