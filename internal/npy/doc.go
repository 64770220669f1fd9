// Package npy reads and writes the header of NumPy's .npy files (format versions 1.0 to
// 3.0 of numpy.lib.format): a magic number, a Python dictionary that tells type, order
// and shape, and then the elements, which are the caller's to read.
//
//	h, err := npy.ReadHeader(r)
//	data := make([]byte, n) // n of h.Bytes()
//	_, err = io.ReadFull(r, data)
//	data = h.Arrange(data) // C order, host byte order
package npy
