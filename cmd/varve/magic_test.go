// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/localfile"
)

// TestNPYWithoutItsName reads a .npy file as one whatever it is called, unless --format
// says otherwise: its header must not become values.
func TestNPYWithoutItsName(t *testing.T) {
	const data = "[[1,2],[3,4]]"
	source := newNode(t, "--shape", "2,2", "--dtype", "int16", "--chunks", "2,2")
	must(t, data, "write", source, "--format", "json")
	npy := must(t, "", "export", source, "--format", "npy")
	dir := t.TempDir()
	for _, name := range []string{"", "a", "a.bin", "a.raw"} {
		file, in := "-", npy
		if name != "" {
			file, in = filepath.Join(dir, name), ""
			overwrite(t, file, npy)
		}
		node := newNode(t, "--shape", "0,2", "--dtype", "int16", "--chunks", "2,2")
		must(t, in, "append", node, file)
		if got := must(t, "", "export", node, "--format", "json"); got != data+"\n" {
			t.Errorf("append %s: %s", name, got)
		}
		node = newNode(t, "--shape", "2,2", "--dtype", "int16", "--chunks", "2,2")
		must(t, in, "write", node, file)
		if got := must(t, "", "export", node, "--format", "json"); got != data+"\n" {
			t.Errorf("write %s: %s", name, got)
		}
		must(t, in, "append", node, file, "--format", "raw") // 136 bytes are 34 planes
		if got := must(t, "", "info", node); !strings.Contains(got, "36") {
			t.Errorf("append %s as raw: %s", name, got)
		}
		_, errs, status := execute(t, in, "write", node, file, "--select", ":2", "--format", "raw")
		if status != 1 || !strings.Contains(errs, "it is a .npy file; omit --format raw") {
			t.Errorf("write %s as raw: status %d, %s", name, status, errs)
		}
	}
}

// TestPeekNPY leaves every byte to be read, and reads no further than it has to.
func TestPeekNPY(t *testing.T) {
	for _, c := range []struct {
		data string
		want bool
		read int // at most
	}{{"", false, 0}, {"\x93", false, 1}, {"\x93NUMPX", false, 6}, {"abcdefg", false, 1}, {input.MagicNPY + "\x01", true, 6}} {
		under := bytes.NewReader([]byte(c.data))
		v := &input.Values{Reader: iotest.OneByteReader(under), Total: -1}
		got, err := v.PeekNPY()
		if read := len(c.data) - under.Len(); got != c.want || err != nil || read > c.read {
			t.Errorf("%q: %v, %v, %d bytes read", c.data, got, err, read)
		}
		var rest bytes.Buffer
		if _, err := rest.ReadFrom(v.Reader); err != nil || rest.String() != c.data {
			t.Errorf("%q: left %q, %v", c.data, rest.String(), err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	v := &input.Values{Reader: localfile.Patient(ctx, os.Stdin), Name: "standard input"}
	if _, err := v.PeekNPY(); err == nil {
		t.Error("no error")
	}
}
