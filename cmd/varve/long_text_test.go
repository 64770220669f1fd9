// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/internal/racing"
)

// TestExportOfLongText exports one text that fills a chunk, in little more memory than
// the text itself.
func TestExportOfLongText(t *testing.T) {
	racing.Skip(t)
	if !alone(t) {
		return
	}
	withoutGarbage(t)
	const size = 32 << 20
	a := crowded(t, 1, size, zarr.Limits{})
	defer a.Close()
	const most = 2.5 * size / (1 << 20)
	used := leastMiB(most, func() {
		if err := exported(t, a, io.Discard); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%.0f MiB", used)
	if used > most {
		t.Errorf("%.0f MiB for a text of %d", used, size>>20)
	}
}

// TestSafeJSON checks that control characters are escaped, and that the meaning stays.
func TestSafeJSON(t *testing.T) {
	for in, want := range map[string]string{
		`"abc\n"`: `"abc\n"`, "\"\x7f\u0085\u009b\"": `"\u007f\u0085\u009b"`, "\"é\u202e日\u2066\"": `"é\u202e日\u2066"`,
		"\"\u200f\u061c\u2028😀\"": `"\u200f\u061c\u2028😀"`, "\"\xff\x9b\"": "\"\xff\x9b\"",
	} {
		got := output.Safe([]byte(in))
		if string(got) != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal(got, &after) != nil || before != after {
			t.Errorf("%q means something else", in)
		}
	}
}

// TestPlainScreen checks that control sequences are escaped, wherever the text is cut.
func TestPlainScreen(t *testing.T) {
	const in, want = "a,\x1b[31m\a\"é\u009b\u202e\x7f\"\r\n\t日\xff\n", `a,\u001b[31m\u0007"é\u009b\u202e\u007f"\u000d` + "\n\t日\ufffd\n"
	for size := 1; size <= len(in); size++ {
		var got bytes.Buffer
		s := output.NewScreen(&got)
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			if k, err := s.Write([]byte(rest[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if got.String() != want {
			t.Errorf("%d bytes at a time: %q, want %q", size, got.String(), want)
		}
	}
}

// timesTaken returns the memory that a command takes, as a multiple of the size of a
// document. At most most is promised.
func timesTaken(t *testing.T, size int, most float64, args ...string) (times float64) {
	t.Helper()
	document := float64(size) / (1 << 20)
	return leastMiB(most*document, func() {
		var errs bytes.Buffer
		if run(t.Context(), args, console.Streams{In: nil, Out: io.Discard, Err: &errs}) != 0 {
			t.Error(errs.String())
		}
	}) / document
}

// TestInfoOfLongDocuments describes arrays with very many attributes or chunk lengths,
// with and without --json. The memory must be proportional to the length of the document.
func TestInfoOfLongDocuments(t *testing.T) {
	racing.Skip(t)
	if !alone(t) {
		return
	}
	withoutGarbage(t)
	var members strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&members, `,"%x":0`, i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var twice strings.Builder
	sum := 0
	for range 1_100_000 { // too many lengths to read them once
		n := 1 + random.IntN(9)
		fmt.Fprintf(&twice, "%d,%d,", n, n)
		sum += 2 * n
	}
	for name, c := range map[string]struct {
		length, lengths, attributes string
		commands                    []string
	}{
		"attributes": {"2", "1, 1", members.String()[1:], []string{"info", "info --json"}},
		"periodic":   {"3000000", strings.Repeat("1,2,", 999_999) + "1,2", "", []string{"info"}},
		"twice":      {fmt.Sprint(sum + 1), twice.String() + "1", "", []string{"info --json", "grid --json"}},
	} {
		dir := t.TempDir()
		text := fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[%s],"data_type":"int8","chunk_grid":{"name":"rectilinear",`+
			`"configuration":{"kind":"inline","chunk_shapes":[[%s]]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,`+
			`"codecs":[{"name":"bytes"}],"attributes":{%s}}`, c.length, c.lengths, c.attributes)
		overwrite(t, filepath.Join(dir, "zarr.json"), text)
		for _, command := range c.commands {
			times := timesTaken(t, len(text), 8, append(strings.Fields(command), dir)...)
			t.Logf("%s, %s: %.1f times as much as the document of %d bytes", command, name, times, len(text))
			if times > 8 {
				t.Errorf("%s, %s: %.1f times as much as the document, want 8 at most", command, name, times)
			}
		}
	}
}
