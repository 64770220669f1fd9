// SPDX-License-Identifier: Apache-2.0

package arrow_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
)

// hostileLimit is the memory that readers of damaged files may have.
const hostileLimit = 1 << 20

// readAll reads a table, visits all values, and returns an error for texts that are not
// UTF-8. It panics if a batch contradicts itself.
func readAll(r columnar.Reader) error {
	for {
		b, err := r.Next()
		if err != nil {
			return err
		}
		if len(b.Columns) != len(r.Schema().Fields) {
			return errors.New("columns are missing")
		}
		for i, f := range r.Schema().Fields {
			c := &b.Columns[i]
			if c.Rows != b.Rows {
				return errors.New("rows are missing")
			}
			values(f.Type, c, 0, int64(c.Rows))
			for k := 0; f.Type.Kind == columnar.String && c.Dictionary == nil && k < c.Rows; k++ {
				if c.IsValid(k) && !utf8.Valid(c.Data[c.Offsets[k]:c.Offsets[k+1]]) {
					return errors.New("a text is not UTF-8")
				}
			}
		}
	}
}

// tryAll reads bytes as a file or a stream. It fails unless an error says what is wrong.
func tryAll(t testing.TB, raw []byte) {
	t.Helper()
	r, err := open(raw, hostileLimit)
	if err == nil {
		err = readAll(r)
	}
	if err != io.EOF && !errors.Is(err, columnar.ErrCorrupt) && !errors.Is(err, columnar.ErrUnsupported) {
		t.Fatal(err)
	}
}

// TestHostile flips bits of files, cuts them, and writes large numbers into them. Nothing
// panics, and all errors say whether the file is damaged.
func TestHostile(t *testing.T) {
	stride := 5
	if os.Getenv("VARVE_LONG") != "" {
		stride = 1
	}
	for k, name := range goldens(t) {
		raw, err := os.ReadFile(name)
		if err != nil || strings.HasSuffix(name, ".json") || len(raw) > 4<<10 && stride > 1 {
			continue
		}
		for i := k % stride; i < len(raw); i += stride {
			for _, b := range []byte{0x01, 0x80, 0xff} {
				changed := bytes.Clone(raw)
				changed[i] ^= b
				tryAll(t, changed)
			}
			if i%4 == 0 && i+8 <= len(raw) {
				for _, n := range []uint64{0, 1<<31 - 1, 1 << 40, 1<<63 - 1, 1 << 63} {
					changed := bytes.Clone(raw)
					binary.LittleEndian.PutUint64(changed[i:], n)
					tryAll(t, changed)
				}
			}
			tryAll(t, raw[:i])
		}
	}
}

// FuzzReader reads damaged files and streams.
func FuzzReader(f *testing.F) {
	for _, name := range goldens(f) {
		if raw, err := os.ReadFile(name); err == nil && !strings.HasSuffix(name, ".json") {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) { tryAll(t, raw) })
}

// endless is a stream that says it has much, and counts what is asked of it.
type endless struct {
	head []byte
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.head) > 0 {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	if e.read += len(p); e.read > 2<<20 {
		return 0, io.ErrUnexpectedEOF
	}
	return len(p), nil
}

// TestShortStream has a stream whose metadata is said to have 200 MiB. Memory grows with
// what arrives.
func TestShortStream(t *testing.T) {
	head := binary.LittleEndian.AppendUint32([]byte{255, 255, 255, 255}, 200<<20)
	n := testing.AllocsPerRun(1, func() {
		_, err := arrow.NewStreamReader(&endless{head: head}, 0)
		if !errors.Is(err, columnar.ErrCorrupt) {
			t.Error(err)
		}
	})
	if n > 100 {
		t.Error(n)
	}
}
