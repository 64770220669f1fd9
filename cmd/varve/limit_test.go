// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimit lowers and raises the limit for a chunk by --limit.
func TestLimit(t *testing.T) {
	node := newNode(t, "--shape", "4096", "--dtype", "int8", "--chunks", "4096", "--compressor", "gzip:1")
	must(t, "", "write", node, "--value", "7")
	_, errs, status := execute(t, "", "cat", node, "--limit", "4095B")
	if status != 1 || !strings.Contains(errs, "--limit") || !strings.Contains(errs, "4095") {
		t.Errorf("status %d, %s", status, errs)
	}
	if out := must(t, "", "cat", node, "--limit", "4kiB", "--select", "-1"); strings.TrimSpace(out) != "7" {
		t.Error(out)
	}
	for _, bad := range []string{"", "many", "0B", "4096", "-1MiB"} {
		if _, errs, status := execute(t, "", "cat", node, "--limit", bad); status != 2 || !strings.Contains(errs, "--limit") {
			t.Errorf("%q: status %d, %s", bad, status, errs)
		}
	}
}

// TestLimitOfParts writes and checks a part of an uncompressed chunk that is larger than
// the limit.
func TestLimitOfParts(t *testing.T) {
	node := newNode(t, "--shape", "100000", "--dtype", "int16", "--chunks", "100000", "--compressor", "none")
	must(t, "", "write", node, "--value", "7")
	must(t, "\x05\x00\x06\x00", "write", node, "--select", "50000:50002", "--format", "raw", "--limit", "1kiB")
	must(t, "", "write", node, "--select", "-1", "--value", "8", "--limit", "1kiB")
	if out := must(t, "", "cat", node, "--select", "49999:50003"); strings.TrimSpace(out) != "[7 5 6 7]" {
		t.Errorf("%q", out)
	}
	if out := must(t, "", "check", node, "--limit", "1kiB"); !strings.Contains(out, "0 faults") {
		t.Error(out)
	}
	_, errs, status := execute(t, "", "write", node, "--value", "3", "--limit", "1kiB")
	if status != 1 || !strings.Contains(errs, "--limit") {
		t.Errorf("status %d, %s", status, errs)
	}
	packed := newNode(t, "--shape", "100000", "--dtype", "int16", "--chunks", "100000", "--compressor", "gzip:1")
	must(t, "", "write", packed, "--value", "7")
	for _, args := range [][]string{{"check", packed}, {"write", packed, "--select", "0", "--value", "1"}} {
		_, errs, status := execute(t, "", append(args, "--limit", "1kiB")...)
		if status != 1 || !strings.Contains(errs, "--limit") || !strings.Contains(errs, "only whole chunks") {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}

// TestLimitIsNoDamage reads, checks and writes arrays of every kind of type and codec
// with every limit, from one that permits nothing on. The failure is always one of the
// limit that names the flag, and never of damage.
func TestLimitIsNoDamage(t *testing.T) {
	long := strings.Repeat("x", 3000)
	text := `["` + long + `","` + long + `","a","` + long + `","","` + long + `"]`
	types := map[string]struct{ dtype, values, value string }{
		"string":  {"string", text, ""},
		"bytes":   {"variable_length_bytes", "", `"` + strings.Repeat("AAAA", 500) + `"`},
		"numbers": {"int32", "[1,2,3,4,5,6]", ""},
		"utf32":   {`{"name":"fixed_length_utf32","configuration":{"length_bytes":4000}}`, `["a","b","c","d","e","f"]`, ""},
		"struct":  {`{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int32"},{"name":"b","data_type":"float64"}]}}`, "", `{"a": 1, "b": 2.5}`},
		"raw":     {"r8000", "", "[" + strings.Repeat("7,", 999) + "7]"},
	}
	chains := map[string][]string{
		"none": {"--compressor", "none"}, "zstd": {"--compressor", "zstd:3"}, "gzip": {"--compressor", "gzip:1"}, "blosc": {"--compressor", "blosc"},
		"shards": {"--shards", "6"}, "plain shards": {"--shards", "6", "--compressor", "none"},
		"v2": {"--zarr-format", "2"}, "v2 gzip": {"--zarr-format", "2", "--compressor", "gzip:1"},
	}
	limited := 0
	for name, typ := range types {
		for how, flags := range chains {
			node := t.TempDir() + "/a.zarr"
			args := append([]string{"create", node, "--shape", "6", "--dtype", typ.dtype, "--chunks", "3"}, flags...)
			if _, errs, status := execute(t, "", args...); status != 0 {
				if strings.HasPrefix(how, "v2") && strings.Contains(errs, "format 2") || strings.Contains(errs, "blosc") {
					continue // there is no such array
				}
				t.Fatalf("%s %s: %s", name, how, errs)
			}
			if typ.values != "" {
				must(t, typ.values, "write", node, "--format", "json")
			} else {
				must(t, "", "write", node, "--value", typ.value)
			}
			for limit := 1; limit < 1<<16; limit *= 3 {
				for _, args := range [][]string{
					{"cat", node}, {"cat", node, "--select", "-1"}, {"export", node, "--format", "json"}, {"export", node, "--format", "csv"},
					{"export", node, "--format", "raw"}, {"check", node}, {"equal", node, node}, {"diff", node, node}, {"check", node, "--digest"},
				} {
					out, errs, status := execute(t, "", append(args, "--limit", fmt.Sprint(limit, "B"), "--json")...)
					if status == 0 || strings.Contains(errs, "which raw cannot represent") {
						continue
					}
					limited++
					if status != 1 || strings.Contains(out+errs, `"corrupt"`) || strings.Contains(out+errs, "damage") && args[0] != "check" || !strings.Contains(out+errs, "limit") {
						t.Errorf("%s %s, %d bytes, %v: status %d, %s%s", name, how, limit, args[:1], status, out, errs)
					}
				}
			}
		}
	}
	if limited < 100 {
		t.Errorf("only %d commands met their limit", limited)
	}
}
