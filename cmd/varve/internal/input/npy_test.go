// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"context"
	"os"
	"testing"
	"testing/iotest"

	"varve.dev/zarr/cmd/varve/internal/localfile"
)

// TestPeekNPY checks that no byte is consumed, and that no more is read than necessary.
func TestPeekNPY(t *testing.T) {
	for _, c := range []struct {
		data string
		want bool
		read int // at most
	}{{"", false, 0}, {"\x93", false, 1}, {"\x93NUMPX", false, 6}, {"abcdefg", false, 1}, {magicNPY + "\x01", true, 6}} {
		under := bytes.NewReader([]byte(c.data))
		v := &Values{Reader: iotest.OneByteReader(under), Total: -1}
		got, err := v.peekNPY()
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
	v := &Values{Reader: localfile.Patient(ctx, os.Stdin), Name: "standard input"}
	if _, err := v.peekNPY(); err == nil {
		t.Error("no error")
	}
}
