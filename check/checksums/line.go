// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
)

// line returns a line as sha256sum writes it: it begins with a backslash if the name has
// escapes.
func line(key string, sum [sha256.Size]byte) string {
	mark, name := "", escapes.Replace(key)
	if name != key {
		mark = `\`
	}
	return fmt.Sprintf("%s%x  %s\n", mark, sum, name)
}

// escapes makes the escapes of a name, and unescapes undoes them.
var (
	escapes   = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)
	unescapes = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\r`, "\r")
)

// longestLine bounds a line, in bytes. No store has keys as long as half of it.
const longestLine = 256 << 10

// parse returns the key and the sum of a line, without the newline.
func parse(text string) (key string, sum [sha256.Size]byte, err error) {
	text = strings.TrimSuffix(text, "\r")
	text, escaped := strings.CutPrefix(text, `\`)
	const width = 2 * sha256.Size
	// The byte after the space is a space, or an asterisk for binary mode.
	if len(text) < width+3 || text[width] != ' ' || text[width+1] != ' ' && text[width+1] != '*' {
		return "", sum, errLine
	}
	if _, err := hex.Decode(sum[:], []byte(text[:width])); err != nil {
		return "", sum, errLine
	}
	key = text[width+2:]
	if escaped {
		key = unescapes.Replace(key)
	}
	if key = strings.TrimPrefix(key, "./"); key == "" {
		return "", sum, errLine
	}
	return key, sum, nil
}

var errLine = fmt.Errorf("%w: not a line of sha256sum: 64 hexadecimal digits, two spaces, a name", zarr.ErrInvalidArgument)

// read reads a list. It has at most most lines.
func read(r io.Reader, most int) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, longestLine)
	for n := 1; s.Scan(); n++ {
		if s.Text() == "" {
			continue
		}
		key, sum, err := parse(s.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if own.IsBelow(key) {
			continue // sha256sum lists these, too
		}
		if was, twice := sums[key]; twice && was != sum {
			return nil, fmt.Errorf("line %d: %w: %q is listed twice, with two sums", n, zarr.ErrInvalidArgument, key)
		}
		if len(sums) == most {
			return nil, fmt.Errorf("%w: a list of more than %s", zarr.ErrLimit, quantity.Count(most, "values"))
		}
		sums[key] = sum
	}
	return sums, s.Err()
}
