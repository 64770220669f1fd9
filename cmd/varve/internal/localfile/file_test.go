// SPDX-License-Identifier: Apache-2.0

package localfile

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPatient checks that a stream is read unchanged for all sizes of reads.
func TestPatient(t *testing.T) {
	text := strings.Repeat("0123456789", 1<<16)
	got, err := io.ReadAll(Patient(t.Context(), strings.NewReader(text)))
	if err != nil || string(got) != text {
		t.Errorf("%d bytes and %v, want %d", len(got), err, len(text))
	}
}

func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, want := new(Spool), bytes.Repeat([]byte("0123456789abcdef"), SpoolMemory/16+3)
	for part := range slices.Chunk(want, 1<<20+1) {
		if _, err := s.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Reader()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, at := range []int{0, 5, len(s.memory) - 3, len(s.memory), len(want) - 9} {
		got := make([]byte, 9)
		if n, err := r.ReadAt(got, int64(at)); n != 9 || err != nil && err != io.EOF || !bytes.Equal(got, want[at:at+9]) {
			t.Errorf("at %d: %d bytes %q, %v", at, n, got, err)
		}
	}
	if n, err := r.ReadAt(make([]byte, 9), int64(len(want)-5)); n != 5 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
