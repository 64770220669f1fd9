// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/internal/racing"
)

// populous writes a group whose consolidated metadata has many small nodes that do not
// exist. It returns the size of that document in bytes.
func populous(t *testing.T, dir string, format, nodes int) int {
	t.Helper()
	var b bytes.Buffer
	name, own, entry := "zarr.json", "", `"%05x":{"zarr_format":3,"node_type":"group"}`
	b.WriteString(`{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{`)
	if format == 2 {
		b.Reset()
		name, own, entry = ".zmetadata", ".zgroup", `"%05x/.zgroup":{"zarr_format":2}`
		b.WriteString(`{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},`)
	}
	for i := range nodes {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, entry, i)
	}
	b.WriteString("}}")
	if format == 3 {
		b.WriteString("}")
	}
	if own != "" {
		if err := os.WriteFile(filepath.Join(dir, own), []byte(`{"zarr_format":2}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// alone runs a test in a process of its own, without the memory of other tests. It
// reports whether this is that process.
func alone(t *testing.T) bool {
	t.Helper()
	const own = "VARVE_TEST_ALONE"
	if os.Getenv(own) == t.Name() {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), own+"="+t.Name())
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Error(err)
	}
	return false
}

// TestMemoryOfManyNodes checks that the memory for groups of very many small nodes is
// proportional to their consolidated metadata. The documents are as short as possible, so
// what is held for each node is much longer.
func TestMemoryOfManyNodes(t *testing.T) {
	racing.Skip(t)
	if !alone(t) {
		return
	}
	withoutGarbage(t)
	for _, c := range []struct {
		command    string
		two, three float64 // times as much as the document of format 2, of 34 bytes a node, and of format 3, of 46
	}{
		{"info", 8, 6}, {"info --json", 8, 6}, {"tree", 8, 6}, {"tree --json", 8, 6}, {"attrs", 8, 5}, {"check --json", 8, 6},
	} {
		for format, most := range map[int]float64{2: c.two, 3: c.three} {
			t.Run(fmt.Sprint(c.command, " of format ", format), func(t *testing.T) {
				dir := t.TempDir()
				n := populous(t, dir, format, 60_000)
				document := float64(n) / (1 << 20)
				times := leastMiB(most*document, func() {
					var errs bytes.Buffer
					status := run(t.Context(), append(strings.Fields(c.command), dir), console.Streams{In: nil, Out: io.Discard, Err: &errs})
					if want := strings.Count(c.command, "check"); status != want { // it finds the metadata stale
						t.Error(errs.String())
					}
				}) / document
				t.Logf("%.1f times as much as the document of %d bytes", times, n)
				if times > most {
					t.Errorf("%.0f times at most are promised", most)
				}
			})
		}
	}
}
