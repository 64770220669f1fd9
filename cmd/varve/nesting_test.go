// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// TestDeepAttributes sets attributes that are nested deeper than documents may be. The
// error must be a limit, not wrong usage.
func TestDeepAttributes(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	dir := t.TempDir()
	for _, format := range []string{"3", "2"} {
		group, array := filepath.Join(dir, format), filepath.Join(dir, format, "a")
		must(t, "", "create", group, "--group", "--zarr-format", format)
		must(t, "", "create", array, "--shape", "1", "--dtype", "int8")
		for _, args := range [][]string{
			{"attrs", group, "set", "x", deep},
			{"attrs", array, "set", "x", deep},
			{"create", array + "1", "--shape", "1", "--dtype", "int8", "--attributes", `{"x":` + deep + `}`},
			{"create", group + "/b", "--group", "--attributes", `{"x":` + deep + `}`},
		} {
			_, stderr, status := execute(t, "", append(args, "--json")...)
			if status != 1 || !strings.Contains(phrase.Compact([]byte(stderr)), `"kind":"limit"`) {
				t.Errorf("format %s, %s: %d, %s", format, args[0], status, stderr)
			}
		}
	}
}
