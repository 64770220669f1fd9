// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"testing"
	"unsafe"
)

func testOf[T Element](t *testing.T, name string) {
	t.Helper()
	var zero T
	if typ := Of[T](); typ != parse(t, name) || typ.Size() != int(unsafe.Sizeof(zero)) {
		t.Errorf("Of[%T]() = %s of %d bytes, want %s", zero, typ, typ.Size(), name)
	}
}

func TestOf(t *testing.T) {
	testOf[bool](t, "bool")
	testOf[int8](t, "int8")
	testOf[int16](t, "int16")
	testOf[int32](t, "int32")
	testOf[rune](t, "int32")
	testOf[int64](t, "int64")
	testOf[uint8](t, "uint8")
	testOf[byte](t, "uint8")
	testOf[uint16](t, "uint16")
	testOf[uint32](t, "uint32")
	testOf[uint64](t, "uint64")
	testOf[Float16](t, "float16")
	testOf[float32](t, "float32")
	testOf[float64](t, "float64")
	testOf[complex64](t, "complex64")
	testOf[complex128](t, "complex128")
}

// elem returns the bytes of a value in memory.
func elem[T Element](v T) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))...)
}
