package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/racing"
)

// TestLongTextInParts spells long texts part by part, as short ones are spelled at once.
func TestLongTextInParts(t *testing.T) {
	text := dtype.Of[string]()
	for _, piece := range []string{"a", "\x00", "é", "日本x", "\"", "a,b\r\n", "\u009b\u202e", "😀\\", " "} {
		for _, more := range []int{0, 1, 2, 3, longText} {
			word := []byte(strings.Repeat(piece, longText/len(piece)+1+more))
			for name, c := range map[string]struct {
				write func(*bufio.Writer, []byte) error
				want  []byte
			}{
				"json": {writeLongJSON, appendSafe(nil, text.AppendJSON(nil, word))},
				"csv":  {writeLongCell, appendCell(nil, text, word)},
			} {
				var got bytes.Buffer
				w := bufio.NewWriter(&got)
				if err := c.write(w, word); err != nil || w.Flush() != nil || !bytes.Equal(got.Bytes(), c.want) {
					t.Errorf("%s of %d times %q differs (%v)", name, len(word)/len(piece), piece, err)
				}
			}
		}
	}
}

// TestExportOfLongText exports one text that is a chunk by itself in little more memory than it takes.
func TestExportOfLongText(t *testing.T) {
	racing.Skip(t)
	if !alone(t) {
		return
	}
	withoutGarbage(t)
	const size = 32 << 20
	a := crowded(t, 1, size, zarr.Limits{})
	defer a.Close()
	used := heapMiB(func() {
		if err := exported(t, a, io.Discard); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%.0f MiB", used)
	if used > 2.5*size/(1<<20) {
		t.Errorf("%.0f MiB for a text of %d", used, size>>20)
	}
}

// TestSafeJSON escapes what could take over a terminal, and leaves the meaning as it is.
func TestSafeJSON(t *testing.T) {
	for in, want := range map[string]string{
		`"abc\n"`: `"abc\n"`, "\"\x7f\u0085\u009b\"": `"\u007f\u0085\u009b"`, "\"é\u202e日\u2066\"": `"é\u202e日\u2066"`,
		"\"\u200f\u061c\u2028😀\"": `"\u200f\u061c\u2028😀"`, "\"\xff\x9b\"": "\"\xff\x9b\"",
	} {
		got := safeJSON([]byte(in))
		if string(got) != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal(got, &after) != nil || before != after {
			t.Errorf("%q means something else", in)
		}
	}
}
