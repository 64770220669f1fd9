// SPDX-License-Identifier: Apache-2.0

package nodename

import (
	"strings"
	"testing"
)

func TestCheckSegment(t *testing.T) {
	for _, seg := range []string{"a", "0", "-1", "t2m_2", "a.b", "...", "ä", "a b", "__tmp", "C:", `a\b`, "a\n", "a\u0085", "\x7f", "\xff"} {
		if err := CheckSegment(seg); err != nil {
			t.Errorf("%q: %v", seg, err)
		}
	}
	for _, seg := range []string{"", ".", "..", "a\x00"} {
		if err := CheckSegment(seg); err == nil {
			t.Errorf("%q is accepted", seg)
		}
	}
}

func TestCheckNew(t *testing.T) {
	for _, name := range []string{"a", "..a", ".zarray", "__categories", "c", "T:2m", "a:b"} {
		if err := CheckNew(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"...", "zarr.json", "", ".", `a\b`, "a\tb", "\xff", "__varve", "__varve.lock", "__tmp-1"} {
		if err := CheckNew(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestCheckListed(t *testing.T) {
	for _, name := range []string{"a", "T:2m", "a:b", `a\b`, "ta\tb", "..a", "C:"} {
		if err := CheckListed(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "...", "zarr.json", `..\x`, `a\..\b`, `\x`, `c:\x`, `a\`, "__varve", "a\x00"} {
		if err := CheckListed(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestLeadsOut(t *testing.T) {
	for _, name := range []string{"a", "T:2m", `a\b`, "a/b", "C:", "..a/b", "ab:/c", "a/c:", "2:/x"} {
		if LeadsOut(name) {
			t.Errorf("%q leads out", name)
		}
	}
	for _, name := range []string{"", "..", "/a", "a//b", "a/../b", `a/..\b`, `..\b`, `\x`, `c:\x`, "C:/x", `a\`, `a\.\b`} {
		if !LeadsOut(name) {
			t.Errorf("%q does not lead out", name)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for _, name := range []string{"...", "zarr.json", `a\b`, "a\tb", "\xff", "__tmp-1"} {
		if err := CheckPath(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a\x00", "__varve"} {
		if err := CheckPath(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestIsDocument(t *testing.T) {
	for _, name := range strings.Fields("zarr.json .zarray .zgroup .zattrs .zmetadata") {
		if !IsDocument(name) {
			t.Errorf("%q is no document", name)
		}
	}
	for _, name := range strings.Fields("zarr .z c __varve a/zarr.json") {
		if IsDocument(name) {
			t.Errorf("%q is a document", name)
		}
	}
}

func TestIsPlain(t *testing.T) {
	for _, key := range []string{"a", "c/0/1", "c.0.1", "a./b..c", "_/-", "zarr.json"} {
		if !IsPlain(key) {
			t.Errorf("%q is not plain", key)
		}
	}
	for _, key := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/..", ".a", "C:", `a\b`, "a b", "ä", "a\x00"} {
		if IsPlain(key) {
			t.Errorf("%q is plain", key)
		}
	}
}
