// Package turn moves elements between memory whose order is not the same: planes of rows
// to planes of columns, and numbers to the other byte order.
//
// Processors with AVX2 use assembly that tools/turn generates; all others, and programs
// built with the tag purego, use 64-bit arithmetic.
package turn

//go:generate go -C ../../tools run ./turn -out ../internal/turn/avx2_amd64.s -stubs ../internal/turn/avx2_amd64.go -pkg turn
