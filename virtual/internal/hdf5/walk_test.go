// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/virtual/scan"
)

// soft returns a soft link.
func soft(name, target string) []byte {
	return msg(kindLink, byte(1), byte(8), byte(linkSoft), byte(len(name)), name, uint16(len(target)), target)
}

// omissions returns what was left out, by path.
func omissions(set *scan.Dataset) map[string]string {
	list := map[string]string{}
	for _, o := range set.Omitted {
		list[o.Path] = o.Reason.Error()
	}
	return list
}

// plainArray adds an array of two integers.
func (b *builder) plainArray() uint64 {
	at := b.put("12345678")
	return b.header(space([]uint64{2}, []uint64{2}), msg(kindDatatype, int32s), msg(kindLayout, byte(3), byte(layoutContiguous), at, uint64(8)))
}

// TestOtherLinks names the links that cannot be followed, and why.
func TestOtherLinks(t *testing.T) {
	b := newBuilder()
	v := b.plainArray()
	own := msg(kindLink, byte(1), byte(8), byte(99), byte(3), "own", uint16(1), "x")
	deep := soft("s0", "/v")
	for i := range mostSoft + 1 {
		deep = append(deep, soft(fmt.Sprintf("s%d", i+1), fmt.Sprintf("/s%d", i))...)
	}
	set, err := Scan(openBytes(t, b.done(b.header(hard("v", v), own, deep, soft("root", "/"), hard("a:", v)))))
	if err != nil {
		t.Fatal(err)
	}
	left := omissions(set)
	for path, want := range map[string]string{
		"own": "a link of the kind 99", fmt.Sprintf("s%d", mostSoft): "more than 16 other links", "root": "a group that it is in",
	} {
		if !strings.Contains(left[path], want) {
			t.Errorf("%s: %q, want %q", path, left[path], want)
		}
	}
	if n := 1 + mostSoft; len(set.Arrays) < n {
		t.Errorf("%d arrays, want %d", len(set.Arrays), n)
	}
}

// TestManyPaths scans groups that all lead to each other: they have more paths than any
// reader could list. Each group is there under each of its names, and the rest is named.
func TestManyPaths(t *testing.T) {
	const groups = 12
	b := newBuilder()
	v := b.plainArray()
	var all [][]byte
	for i := range groups {
		links := [][]byte{hard("v", v)}
		for j := range groups {
			if j != i {
				links = append(links, soft(fmt.Sprintf("to%d", j), fmt.Sprintf("/g%d", j)))
			}
		}
		all = append(all, hard(fmt.Sprintf("g%d", i), b.header(links...)))
	}
	set, err := Scan(openBytes(t, b.done(b.header(all...))))
	if err != nil {
		t.Fatal(err)
	}
	// Groups: the root, each, and each in each. Each has an array.
	if n := groups + groups*(groups-1); len(set.Groups) != 1+n || len(set.Arrays) != n {
		t.Errorf("%d groups and %d arrays, want %d arrays", len(set.Groups), len(set.Arrays), n)
	}
	if why := omissions(set)["g0/to1/to2"]; !strings.Contains(why, `a link to the group "/g2"`) {
		t.Errorf("%q", why)
	}
}

// TestLongPaths scans groups in groups with long names. What is below is there, or left
// out if it has too many long paths, and so is what is beside them.
func TestLongPaths(t *testing.T) {
	long := func(name string, address uint64) []byte { // with a length of four bytes
		return msg(kindLink, byte(1), byte(2), uint32(len(name)), name, address)
	}
	for _, c := range []struct{ members, arrays int }{{3, 4}, {100, 0}} {
		b := newBuilder()
		v := b.plainArray()
		var members [][]byte
		for i := range c.members {
			members = append(members, hard(fmt.Sprintf("x%d", i), b.plainArray()))
		}
		group := b.header(members...)
		for range 40 {
			group = b.header(long(strings.Repeat("k", 60_000), group))
		}
		set, err := Scan(openBytes(t, b.done(b.header(hard("g", group), hard("v", v)))))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(set.Arrays, func(a *scan.Array) bool { return a.Path == "v" }) || c.arrays > 0 && len(set.Arrays) != c.arrays {
			t.Errorf("%d arrays, want %d", len(set.Arrays), c.arrays)
		}
		left := 1 + c.members - len(set.Arrays)
		if c.arrays == 0 && (left == 0 || len(set.Omitted) != 1 || !strings.Contains(set.Omitted[0].Reason.Error(), fmt.Sprintf("%d of its 100 members", left))) {
			t.Errorf("%d are left out, and named %d", left, len(set.Omitted))
		}
	}
}

// TestCostOfLinks has a small file whose links would add a large array very often.
func TestCostOfLinks(t *testing.T) {
	const chunks, links = 1 << 20, 64
	b := newBuilder()
	v := b.header(space([]uint64{chunks}, []uint64{unlimited}), msg(kindDatatype, int32s), chunkedLayout(1, indexTree2, make([]byte, 6), ^uint64(0)))
	all := [][]byte{hard("a", v)}
	for i := range links {
		all = append(all, hard(fmt.Sprintf("b%d", i), v))
	}
	set, err := Scan(openBytes(t, b.done(b.header(all...))))
	if err != nil || len(set.Arrays)*chunks > chunks+mostAgain/chunkBytes || len(set.Arrays) < 4 || len(set.Arrays)+len(set.Omitted) != 1+links {
		t.Errorf("%d arrays, %d omitted: %v", len(set.Arrays), len(set.Omitted), err)
	}
}

// TestCostOfGroups has a small file whose links would add many names of nothing.
func TestCostOfGroups(t *testing.T) {
	const links = 4000
	b := newBuilder()
	var inner [][]byte
	for i := range links {
		inner = append(inner, soft(fmt.Sprintf("x%d", i), "/none"))
	}
	g := b.header(inner...)
	all := [][]byte{hard("g", g)}
	for i := range links {
		all = append(all, hard(fmt.Sprintf("h%d", i), g))
	}
	set, err := Scan(openBytes(t, b.done(b.header(all...))))
	if n := len(set.Omitted) + len(set.Groups); err != nil || n > mostAgain/linkBytes+3*links || n < 2*links {
		t.Errorf("%d groups, %d omitted: %v", len(set.Groups), len(set.Omitted), err)
	}
}

// TestEnumMeanings keeps the names of the values of an enumeration.
func TestEnumMeanings(t *testing.T) {
	enum := parts(byte(0x38), uint16(2), byte(0), uint32(4), int32s, "low\x00", "very high\x00", uint32(0), uint32(9))
	b := newBuilder()
	at := b.put("12345678")
	a := scanOne(t, b.one(space([]uint64{2}, []uint64{2}), msg(kindDatatype, enum), msg(kindLayout, byte(3), byte(layoutContiguous), at, uint64(8))))
	text, err := a.Attributes.JSON()
	if want := `{"flag_values":[0,9],"flag_meanings":"low very_high"}`; err != nil || a.Refused != nil || string(text) != want || !json.Valid(text) {
		t.Errorf("%s, want %s: %v %v", text, want, err, a.Refused)
	}
	record := parts(byte(0x36), uint16(1), byte(0), uint32(4), "level\x00", byte(0), enum)
	set, err := Scan(openBytes(t, b.one(space([]uint64{2}, []uint64{2}), msg(kindDatatype, record), msg(kindLayout, byte(3), byte(layoutContiguous), at, uint64(8)))))
	if err != nil || !strings.Contains(omissions(set)["a:flag_meanings"], `"level"`) {
		t.Errorf("%v: %v", omissions(set), err)
	}
}

// TestLargeElements refuses arrays in compounds that would be too many fields, and fill
// values that no element of Zarr has.
func TestLargeElements(t *testing.T) {
	for want, c := range map[string]struct {
		typ, fill []byte
	}{
		"an array of 5000 numbers": {parts(byte(0x36), uint16(1), byte(0), uint32(20000), "f\x00", uint16(0), byte(0x3a), "\x00\x00\x00", uint32(20000), byte(1), uint32(5000), int32s), nil},
		"different values":         {array2, parts(byte(2), byte(1), byte(0), byte(1), uint32(12), uint32(1), uint32(1), uint32(2))},
		"65 axes":                  {manyAxes(32, manyAxes(32, int32s)), nil},
	} {
		b := newBuilder()
		messages := [][]byte{space([]uint64{1}, []uint64{1}), msg(kindDatatype, c.typ), msg(kindLayout, byte(3), byte(layoutContiguous), b.put(make([]byte, 20000)), uint64(20000))}
		if c.fill != nil {
			messages = append(messages, msg(kindFill, c.fill))
		}
		if a := scanOne(t, b.one(messages...)); a.Refused == nil || !strings.Contains(a.Refused.Error(), want) {
			t.Errorf("%v, want %q", a.Refused, want)
		}
	}
}

// manyAxes returns the type of an array with n axes of length 1.
func manyAxes(n int, of []byte) []byte {
	typ := parts(byte(0x3a), "\x00\x00\x00", uint32(4), byte(n))
	for range n {
		typ = parts(typ, uint32(1))
	}
	return parts(typ, of)
}
