// SPDX-License-Identifier: Apache-2.0

// Package npy reads and writes the header of NumPy's .npy files (versions 1.0 to 3.0 of
// numpy.lib.format): a magic number and a Python dictionary with type, order and shape.
// The elements follow; the caller reads them.
//
//	h, err := npy.ReadHeader(r)
//	data := make([]byte, n) // n of h.Bytes()
//	_, err = io.ReadFull(r, data)
//	data = h.Arrange(data) // C order, host byte order
package npy
