// SPDX-License-Identifier: Apache-2.0

package vfs

import "io"

// copyBuffer is the size of the buffer of a plain copy, in bytes.
const copyBuffer = 256 << 10

// copyPlain writes n bytes of src, starting at offset off, to dst through a buffer.
func copyPlain(dst io.Writer, src io.ReaderAt, off, n int64) error {
	if n <= 0 {
		return nil
	}
	// Hide the type of the writer, so that io.CopyBuffer does not call its ReadFrom.
	w, buf := struct{ io.Writer }{dst}, make([]byte, min(n, copyBuffer))
	m, err := io.CopyBuffer(w, io.NewSectionReader(src, off, n), buf)
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
