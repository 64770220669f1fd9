// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// TestDiff compares two nodes and reads what is printed, and the same in JSON.
func TestDiff(t *testing.T) {
	a, b := t.TempDir()+"/a.zarr", t.TempDir()+"/b.zarr"
	must(t, "", "create", a+"/x", "--shape", "6,4", "--dtype", "float32", "--chunks", "2,4")
	must(t, "", "write", a+"/x", "--value", "1.5")
	must(t, "", "copy", a, b)
	if out := must(t, "", "diff", a, b); out != "" {
		t.Errorf("equal nodes: %s", out)
	}
	must(t, "", "write", b+"/x", "--select", "3:5,1", "--value", "2")
	must(t, "", "attrs", b+"/x", "set", "units", `"K"`)
	must(t, "", "rechunk", b+"/x", "--chunks", "3,3")
	out, errs, status := execute(t, "", "diff", a, b)
	want := `x  attribute units: none and "K"
x  2 elements differ in [3:5, 1], by 0.5 at most; the first is [3 1]: 1.5 and 2.0
`
	if status != 1 || !strings.HasPrefix(out, want) || !strings.Contains(out, "x  storage only: chunk grid: ") {
		t.Errorf("status %d\n%s", status, out)
	}
	if !strings.HasSuffix(errs, "differ: 2 differences\n") {
		t.Error(errs)
	}
	out, errs, status = execute(t, "", "diff", a+"/x", b+"/x", "--json", "--atol", "0.25")
	r := decode(t, out)
	list, _ := r["differences"].([]any)
	if status != 1 || errs != "" || r["equal"] != false || len(list) != 2 || len(r["storage"].([]any)) == 0 {
		t.Fatalf("status %d, %s\n%s", status, errs, out)
	}
	values, _ := list[1].(map[string]any)
	if values["kind"] != "values" || values["count"] != 2.0 || values["largest"] != 0.5 || values["path"] != "" {
		t.Error(values)
	}
	must(t, "", "attrs", b+"/x", "unset", "units")
	must(t, "", "diff", a, b, "--atol", "0.5")
	must(t, "", "diff", a, b, "--rtol", "0.25")
	for _, flags := range [][]string{{"--atol", "-1"}, {"--regions", "0"}, {"--rtol", "x"}} {
		if _, errs, status := execute(t, "", append([]string{"diff", a, b}, flags...)...); status != 2 {
			t.Errorf("%q: status %d, %s", flags, status, errs)
		}
	}
}

// TestDiffUnread compares groups with a damaged chunk and stale consolidated metadata:
// the rest is compared, and both are named.
func TestDiffUnread(t *testing.T) {
	a, b := t.TempDir()+"/a.zarr", t.TempDir()+"/b.zarr"
	for _, name := range []string{"/x", "/y"} {
		must(t, "", "create", a+name, "--shape", "4", "--dtype", "int16", "--chunks", "2")
		must(t, "", "write", a+name, "--value", "1")
	}
	must(t, "", "consolidate", a)
	must(t, "", "copy", a, b)
	must(t, "", "write", b+"/y", "--select", "3", "--value", "2")
	if err := os.WriteFile(b+"/x/c/1", []byte("?"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(b+"/z", os.DirFS(b+"/y")); err != nil {
		t.Fatal(err)
	}
	out, errs, status := execute(t, "", "diff", a, b)
	if status != 1 || !strings.Contains(out, "y  element [3] differs: 1 and 2\n") || !strings.Contains(out, "z  only in B: an array\n") || !strings.Contains(out, "x  not compared in 1 chunk: ") || !strings.Contains(out, "x/c/1") {
		t.Errorf("status %d\n%s", status, out)
	}
	if !strings.HasPrefix(errs, "note: "+b+": consolidated metadata is older than the nodes") || !strings.HasSuffix(errs, "differ: 2 differences, and 1 node not compared completely\n") {
		t.Error(errs)
	}
	out, _, status = execute(t, "", "diff", a, b, "--json")
	r := decode(t, out)
	unread, _ := r["not_compared"].([]any)
	if status != 1 || r["equal"] != false || len(unread) != 1 || len(r["notes"].([]any)) != 1 || len(r["differences"].([]any)) != 2 {
		t.Fatalf("status %d\n%s", status, out)
	}
	if u, _ := unread[0].(map[string]any); u["path"] != "x" || u["chunks"] != 1.0 || u["key"] != "x/c/1" || fmt.Sprint(u["chunk"]) != "[1]" {
		t.Error(u)
	}
	must(t, "", "rm", b+"/z", "--yes")
	must(t, "", "write", b+"/y", "--value", "1", "--yes")
	if _, errs, status = execute(t, "", "diff", a, b); status != 1 || !strings.HasSuffix(errs, ": 1 node not compared completely\n") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestDiffOwnAttributes checks that what Varve notes in the attributes of an array is no
// difference of its data, but is named. Other attributes are differences.
func TestDiffOwnAttributes(t *testing.T) {
	dir := t.TempDir()
	a, follower := dir+"/a.zarr", dir+"/follower.zarr"
	must(t, "", "create", a, "--shape", "6,4", "--dtype", "float32", "--chunks", "2,4")
	must(t, "", "write", a, "--value", "1.5")
	must(t, "", "rechunk", a, follower, "--chunks", "3,4", "--follow")
	if out := must(t, "", "diff", a, follower); !strings.Contains(out, ".  storage only: attribute varve:follow: none and {") {
		t.Errorf("a follower:\n%s", out)
	}
	for _, name := range []string{"growth", "follow", "pyramid"} {
		b := dir + "/" + name + ".zarr"
		must(t, "", "copy", a, b)
		must(t, "", "attrs", b, "set", "varve:"+name, `{"policy": "repeat-last"}`)
		for _, order := range [][2]string{{a, b}, {b, a}} {
			if out := must(t, "", "diff", order[0], order[1]); !strings.Contains(out, "storage only: attribute varve:"+name) {
				t.Errorf("%s:\n%s", name, out)
			}
		}
		must(t, "", "attrs", b, "set", "varved", "1")
		if out, _, status := execute(t, "", "diff", a, b); status != 1 || !strings.Contains(out, ".  attribute varved: none and 1") {
			t.Errorf("status %d:\n%s", status, out)
		}
	}
}

// TestDiffDamaged damages what one of two equal nodes stores, in every way that stops the
// comparison of a node, and compares them in both orders: the error names that node, or
// what diff prints about it.
func TestDiffDamaged(t *testing.T) {
	write := func(text string) func(t *testing.T, name string) {
		return func(t *testing.T, name string) {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	damages := []struct {
		what, file string
		do         func(t *testing.T, name string)
	}{
		{"no JSON", "x/zarr.json", write(`{"zarr`)},
		{"no array", "x/zarr.json", write(`{"zarr_format": 3, "node_type": "group"}`)},
		{"an invalid array", "x/zarr.json", write(`{"zarr_format": 3, "node_type": "array"}`)},
		{"no document", "x/zarr.json", func(t *testing.T, name string) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}},
		{"a damaged chunk", "x/c/1", write("?")},
	}
	for _, consolidated := range []bool{true, false} {
		for _, shape := range []string{"6", "100000"} { // the second is sparse, so it is listed
			for _, damage := range damages {
				t.Run(fmt.Sprint(damage.what, consolidated, shape), func(t *testing.T) {
					dir := t.TempDir()
					sound, damaged := dir+"/sound.zarr", dir+"/damaged.zarr"
					must(t, "", "create", sound, "--group")
					must(t, "", "create", sound+"/x", "--shape", shape, "--dtype", "int32", "--chunks", "2")
					must(t, "", "write", sound+"/x", "--select", "0:6", "--value", "3")
					if consolidated {
						must(t, "", "consolidate", sound)
					}
					must(t, "", "copy", sound, damaged)
					damage.do(t, filepath.Join(damaged, filepath.FromSlash(damage.file)))
					for _, command := range []string{"diff", "equal"} {
						for _, order := range [][2]string{{sound, damaged}, {damaged, sound}} {
							out, errs, status := execute(t, "", command, order[0], order[1])
							// What is stored counts, and a note says so.
							asStored := !consolidated || command == "diff" && strings.Contains(errs, "note: "+damaged+": ")
							if asStored && damage.what == "no document" && status == 1 && strings.Contains(out+errs, "only in") {
								continue // no error: there is no such node
							}
							said := errs
							if command == "diff" && strings.HasPrefix(out, "x  not compared") {
								said = strings.ReplaceAll(out, "\n", " ")
							}
							named := strings.Contains(said, " "+damaged+"/x: ")
							if group := damage.what == "no array"; asStored && group {
								named = strings.Contains(out+errs, "group") || strings.Contains(errs, "only in")
							}
							if status != 1 || !named || strings.Contains(out+errs, sound+"/x") {
								t.Errorf("%s: status %d, %s%s", command, status, out, errs)
							}
						}
					}
				})
			}
		}
	}
}

// TestDiffEscapes compares nodes whose texts have control characters. A terminal would
// interpret them, so what is printed has none, and tells them apart.
func TestDiffEscapes(t *testing.T) {
	a, b := t.TempDir()+"/a.zarr", t.TempDir()+"/b.zarr"
	for node, text := range map[string]string{a: `\u001b[2Ja`, b: `\u001b[2Jb\u202e`} {
		must(t, "", "create", node, "--group", "--attributes", `{"\u001b[31mname": "`+text+`", "`+text+`": 1, "list": ["`+text+`"]}`)
		must(t, "", "create", node+"/x", "--shape", "2", "--dtype", "string", "--fill", "\x1b]0;fill "+node[len(node)-6:], "--dimension-names", "\x1b[1m"+node[len(node)-6:])
		must(t, `["`+text+`", "same"]`, "write", node+"/x", "--format", "json")
		must(t, "", "create", node+"/y", "--shape", "2", "--dtype", "bytes", "--dimension-names", "z")
		must(t, `["G1sySmE=", "`+map[string]string{a: "YQ==", b: "Gw=="}[node]+`"]`, "write", node+"/y", "--format", "json")
	}
	for _, more := range [][]string{nil, {"--json"}} {
		out, errs, status := execute(t, "", append([]string{"diff", a, b}, more...)...)
		if r := unprintable(out + errs); r >= 0 {
			t.Errorf("%q: byte %d cannot be printed: %q", more, r, out+errs)
		}
		if status != 1 || !strings.Contains(out, `x1b[2J`) && !strings.Contains(out, `u001b[2J`) {
			t.Errorf("%q: status %d, %s%s", more, status, out, errs)
		}
	}
}

// unprintable returns the index of the first character that a terminal may interpret, but
// for the ends of lines, or -1.
func unprintable(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}

// TestCheckDigest compares digests before and after a rechunk and a conversion.
func TestCheckDigest(t *testing.T) {
	a := t.TempDir() + "/a.zarr"
	must(t, "", "create", a+"/x", "--shape", "6,4", "--dtype", "int16", "--chunks", "2,4")
	must(t, "", "write", a+"/x", "--select", "1:3", "--value", "7")
	digest := func(node string) string {
		return decode(t, must(t, "", "check", node, "--digest", "--json"))["digest"].(string)
	}
	before, group := digest(a+"/x"), digest(a)
	if out := must(t, "", "check", a, "--digest"); !strings.HasSuffix(out, before+"  x\n"+group+"  "+a+"\n") {
		t.Error(out)
	}
	must(t, "", "rechunk", a+"/x", "--chunks", "5,1")
	must(t, "", "convert", a, a+"2", "--to", "2")
	if x, g := digest(a+"2/x"), digest(a+"2"); x != before || g != group {
		t.Errorf("digests %s and %s, before %s and %s", x, g, before, group)
	}
	must(t, "", "write", a+"/x", "--select", "0,0", "--value", "1")
	if x, g := digest(a+"/x"), digest(a); x == before || g == group {
		t.Errorf("digests %s and %s of other values", x, g)
	}
}

// TestCheckAgainst writes a list and finds what changes afterwards.
func TestCheckAgainst(t *testing.T) {
	dir := t.TempDir()
	a, list := dir+"/a.zarr", dir+"/list"
	must(t, "", "create", a+"/x", "--shape", "6", "--dtype", "int16", "--chunks", "2")
	must(t, "", "write", a+"/x", "--value", "7")
	out := must(t, "", "check", a, "--write-checksums", list, "--dandi")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); !strings.Contains(lines[len(lines)-1], "-5--") {
		t.Errorf("no digest of five values: %s", out)
	}
	must(t, "", "check", a, "--write-manifest", list) // the former name of the flag
	if help := must(t, "", "check", "--help"); strings.Contains(help, "--write-manifest") {
		t.Error(help)
	}
	if out := must(t, "", "check", a, "--against", list); !strings.HasSuffix(out, ": 0 not as listed\n") {
		t.Error(out)
	}
	must(t, "", "write", a+"/x", "--select", "3", "--value", "8")
	must(t, "", "write", a+"/x", "--select", "4:6", "--value", "0")
	out, errs, status := execute(t, "", "check", a, "--against", list, "--json")
	found, _ := decode(t, out)["findings"].([]any)
	if status != 1 || errs != "" || len(found) != 2 {
		t.Fatalf("status %d, %s\n%s", status, errs, out)
	}
	first, _ := found[0].(map[string]any)
	last, _ := found[1].(map[string]any)
	if first["kind"] != "changed" || first["key"] != "x/c/1" || last["kind"] != "missing" || last["key"] != "x/c/2" {
		t.Error(found)
	}
	// A list inside of the node could not be trusted, and would be a part of it.
	if _, errs, status := execute(t, "", "check", a, "--write-checksums", a+"/list"); status != 1 || !strings.Contains(errs, "list") {
		t.Errorf("in the node: status %d, %s", status, errs)
	}
	// Damage leaves no list of what is not sound.
	spoil(t, a+"/x/c/0", func(b []byte) []byte { return b[:1] })
	if _, _, status := execute(t, "", "check", a, "--write-checksums", list+"2"); status != 1 {
		t.Errorf("damaged: status %d", status)
	}
	if _, err := os.Stat(list + "2"); err == nil {
		t.Error("a list of a damaged node was written")
	}
}

// TestCheckAgainstOther compares nodes with lists of other nodes. The message says whose
// list it is, as far as the keys tell, and a file that is no list is named itself.
func TestCheckAgainstOther(t *testing.T) {
	dir := t.TempDir()
	group, other, list := dir+"/g.zarr", dir+"/o.zarr", dir+"/list.sha256"
	for i, array := range []string{group + "/x", group + "/y", other + "/z"} {
		must(t, "", "create", array, "--shape", "6", "--dtype", "int16", "--chunks", "2")
		must(t, "", "write", array, "--value", fmt.Sprint(i+1))
	}
	write := func(node string) { must(t, "", "check", node, "--write-checksums", list) }
	against := func(node, want string) {
		t.Helper()
		if _, errs, status := execute(t, "", "check", node, "--against", list); status != 1 || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %s\nwant %s", node, status, errs, want)
		}
	}
	write(group)
	must(t, "", "check", group, "--against", list)
	against(group+"/x", `not as `+list+` says: it was written for a folder above, and lists what is checked here below "x" or another folder; check`)
	against(other, "says: none of its keys is stored here, such as x/c/0; it is the list of another node")
	write(group + "/y")
	against(group, `it was written for a node below, "x" or another folder`)
	write(other)
	against(group, "such as z/c/0; it is the list of another node")
	write(group)
	overwrite(t, filepath.Join(group, "x", "c", "0"), "?") // damage, in its own list
	if _, errs, _ := execute(t, "", "check", group, "--against", list); !strings.HasSuffix(errs, "1 value not as "+list+" says\n") {
		t.Error(errs)
	}
	overwrite(t, list, "d41d8cd98f00b204e9800998ecf8427e  x/c/0\n") // of md5sum
	against(group, "check "+group+": "+list+": line 1: not a line of sha256sum")
}

// TestCheckSample checks a part of the chunks, and reads its flag.
func TestCheckSample(t *testing.T) {
	node := newNode(t, "--shape", "1000", "--dtype", "int8", "--chunks", "1")
	must(t, "", "write", node, "--value", "1")
	n := decode(t, must(t, "", "check", node, "--json", "--sample", "10%"))["chunks_stored"].(float64)
	if n < 20 || n > 300 { // beyond eight standard deviations
		t.Errorf("%v of 1000 chunks", n)
	}
	if n := decode(t, must(t, "", "check", node, "--json", "--sample", "1"))["chunks_stored"]; n != 1000.0 {
		t.Errorf("%v of 1000 chunks", n)
	}
	for _, part := range []string{"0%", "101%", "-1", "x", "2", "NaN%"} {
		if _, errs, status := execute(t, "", "check", node, "--sample", part); status != 2 {
			t.Errorf("%s: status %d, %s", part, status, errs)
		}
	}
}

// TestDiffConverted compares arrays of many types with their conversions to the other
// format and back: none of them differs, wherever the mark of missing values is. Marks
// that differ are differences.
func TestDiffConverted(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ dtype, fill, attributes string }{
		"integers": {"int16", "-999", `{"_FillValue": -999}`}, "no mark": {"int16", "0", "{}"}, "unsigned": {"uint8", "255", `{"_FillValue": 255, "_Unsigned": "true"}`},
		"NaN": {"float32", "NaN", "{}"}, "a number": {"float64", "1e20", `{"_FillValue": "QIy1eB2vFUQ="}`}, "two marks": {"int32", "-1", `{"_FillValue": -1, "missing_value": -2}`},
		"text": {"string", `""`, "{}"}, "marked text": {"string", `""`, `{"missing_value": ""}`}, "times": {"M8[s]", "NaT", "{}"},
	} {
		for _, format := range []string{"3", "2"} {
			node, other, back := fmt.Sprintf("%s/%s%s.zarr", dir, name, format), fmt.Sprintf("%s/%s%s.other.zarr", dir, name, format), fmt.Sprintf("%s/%s%s.back.zarr", dir, name, format)
			_, errs, status := execute(t, "", "create", node, "--shape", "2", "--dtype", c.dtype, "--fill", c.fill, "--dimension-names", "x", "--zarr-format", format, "--attributes", c.attributes)
			if status != 0 {
				t.Fatal(errs)
			}
			to := map[string]string{"3": "2", "2": "3"}[format]
			for _, args := range [][]string{{node, other, "--to", to}, {other, back, "--to", format}} {
				if _, errs, status := execute(t, "", append([]string{"convert", "--yes"}, args...)...); status != 0 {
					t.Fatal(errs)
				}
			}
			for _, pair := range [][2]string{{node, other}, {other, back}, {node, back}} {
				if out, errs, status := execute(t, "", "diff", pair[0], pair[1]); status != 0 {
					t.Errorf("%s, format %s: %v: %s%s", name, format, pair, out, errs)
				}
			}
		}
	}
	for name, attributes := range map[string]string{"a": "{}", "b": `{"_FillValue": -1}`, "c": `{"_FillValue": -2}`, "d": `{"_FillValue": -1, "missing_value": -2}`} {
		must(t, "", "create", dir+"/marks/"+name, "--shape", "2", "--dtype", "int16", "--dimension-names", "x", "--attributes", attributes)
	}
	for _, pair := range []string{"ab", "ac", "bc", "bd", "cd"} {
		if out, _, status := execute(t, "", "diff", dir+"/marks/"+pair[:1], dir+"/marks/"+pair[1:]); status != 1 || !strings.Contains(out, "attribute ") {
			t.Errorf("%s: %s", pair, out)
		}
	}
}
