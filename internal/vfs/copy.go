package vfs

import "io"

// copyBuffer is how many bytes a plain copy holds.
const copyBuffer = 256 << 10

// copyPlain writes n bytes of src, from byte off on, to dst by way of a buffer.
func copyPlain(dst io.Writer, src io.ReaderAt, off, n int64) error {
	if n <= 0 {
		return nil
	}
	// The writer is hidden so that no method of its own replaces the buffer.
	w, buf := struct{ io.Writer }{dst}, make([]byte, min(n, copyBuffer))
	m, err := io.CopyBuffer(w, io.NewSectionReader(src, off, n), buf)
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
