// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOverflow refuses numbers that are too large for a float type, and would become
// infinite.
func TestOverflow(t *testing.T) {
	for _, c := range []struct {
		dtype, value string
		refused      bool
	}{
		{"float32", "1e39", true}, {"float32", "-1e39", true}, {"float32", "3.4028235e38", false}, {"float32", "3.4028236e38", true},
		{"float32", "Infinity", false}, {"float32", "-inf", false}, {"float32", "0x7f800000", false}, {"float32", `"0xff800000"`, false},
		{"float16", "65519", false}, {"float16", "65520", true}, {"float64", "1e308", false}, {"float64", "1e309", true},
		{"bfloat16", "1e39", true}, {"float8_e5m2", "1e9", true}, {"float8_e5m2", `"Infinity"`, false}, {"float8_e4m3fn", "1e9", true},
		{"complex64", "[1e39, 0]", true}, {"complex64", `["Infinity", 1e39]`, true}, {"complex64", `["Infinity", 0]`, false}, {"complex64", "1e39+2j", true},
		{`[["a","<f4"],["b","<i4"]]`, `{"a": 1e39, "b": 1}`, true}, {`[["a","<f4"],["b","<i4"]]`, `{"a": "Infinity", "b": 1}`, false},
		{`[["a","<f4"],["b","<i4"]]`, `AACAfwAAAAA=`, false}, {"int8", "128", true}, {"string", "1e39", false},
	} {
		node := newNode(t, "--shape", "2", "--dtype", c.dtype)
		commands := map[string][]string{
			"value": {"write", node, "--value", c.value, "--yes"},
			"fill":  {"create", filepath.Join(t.TempDir(), "b.zarr"), "--shape", "1", "--dtype", c.dtype, "--fill", c.value},
		}
		if strings.ContainsAny(c.value[:1], "0123456789-[{\"") && !strings.ContainsAny(c.value, "jx") && c.value != "-inf" && c.dtype != "string" {
			commands["json"] = []string{"write", node, "--format", "json"}
		}
		for name, args := range commands {
			_, errs, status := execute(t, "["+c.value+","+c.value+"]", args...)
			if status != 0 != c.refused {
				t.Errorf("%s of %s: %s: status %d, %s", c.value, c.dtype, name, status, errs)
			}
			if c.refused && c.dtype != "int8" && c.dtype != "float8_e4m3fn" && !strings.Contains(errs, "Infinity") {
				t.Errorf("%s of %s: %s: %s", c.value, c.dtype, name, errs)
			}
		}
	}
}
