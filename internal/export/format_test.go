// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// TestLongTextInParts checks that encoding long texts part by part equals encoding them
// at once.
func TestLongTextInParts(t *testing.T) {
	text := dtype.String
	for _, piece := range []string{"a", "\x00", "é", "日本x", "\"", "a,b\r\n", "\u009b\u202e", "😀\\", " "} {
		for _, more := range []int{0, 1, 2, 3, longText} {
			word := []byte(strings.Repeat(piece, longText/len(piece)+1+more))
			for name, c := range map[string]struct {
				write func(*bufio.Writer, []byte) error
				want  []byte
			}{
				"json": {writeLongJSON, strictjson.AppendSafe(nil, text.AppendJSON(nil, word))},
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
