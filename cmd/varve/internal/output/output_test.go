// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"testing"
)

// TestHolder checks that output beyond the limit is passed on.
func TestHolder(t *testing.T) {
	var to bytes.Buffer
	h := &holder{out: &to}
	block := make([]byte, 1<<20)
	for i := range 20 {
		if _, err := h.Write(block); err != nil {
			t.Fatal(err)
		}
		if held := to.Len() == 0; held != (i < 16) {
			t.Fatalf("after %d MiB %d bytes were passed on", i+1, to.Len())
		}
	}
	if err := h.flush(); err != nil || to.Len() != 20<<20 {
		t.Errorf("%d bytes, %v", to.Len(), err)
	}
}
