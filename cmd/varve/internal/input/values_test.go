// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/localfile"
)

// TestRest reads the rest of files and streams, and checks that memory is allocated
// once.
func TestRest(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), localfile.SpoolMemory/8)
	name := t.TempDir() + "/data.bin"
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]io.Reader{
		"memory": bytes.NewReader(data), "file": file, "stream": io.MultiReader(bytes.NewReader(data)), "nothing": strings.NewReader(""),
	} {
		if what != "nothing" {
			if _, err := io.ReadFull(r, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
		}
		v := &Values{Reader: r}
		got, err := v.readRest()
		if want := data[5:]; err != nil || what != "nothing" && !bytes.Equal(got, want) || cap(got) > len(got)+len(got)/16 {
			t.Errorf("%s: %d bytes, room for %d, %v", what, len(got), cap(got), err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	_ = file.Close()
}
