// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// folder is a directory in the tree of the DANDI archive.
type folder struct {
	folders map[string]*folder
	files   map[string]file
}

type file struct {
	size int64
	md5  [md5.Size]byte
}

func newFolder() *folder { return &folder{map[string]*folder{}, map[string]file{}} }

// add adds a file below the folder.
func (f *folder) add(key string, size int64, sum [md5.Size]byte) {
	name, rest, below := strings.Cut(key, "/")
	if !below {
		f.files[name] = file{size, sum}
		return
	}
	next := f.folders[name]
	if next == nil {
		next = newFolder()
		f.folders[name] = next
	}
	next.add(rest, size, sum)
}

// treeDigest is the digest of a directory: the MD5 of a listing, and the number and the
// bytes of all files below it.
type treeDigest struct {
	md5         [md5.Size]byte
	count, size int64
}

func (d treeDigest) text() string { return fmt.Sprintf("%x-%d--%d", d.md5, d.count, d.size) }

// digest returns the digest of the folder. The listing is JSON without spaces, with the
// names sorted, as dandi/zarr_checksum spells it.
func (f *folder) digest() treeDigest {
	var d treeDigest
	listing := []byte(`{"directories":[`)
	entry := func(i int, name, digest string, size int64) {
		if i > 0 {
			listing = append(listing, ',')
		}
		listing = fmt.Appendf(listing, `{"digest":"%s","name":%s,"size":%d}`, digest, quoted(name), size)
		d.size += size
	}
	for i, name := range slices.Sorted(maps.Keys(f.folders)) {
		below := f.folders[name].digest()
		entry(i, name, below.text(), below.size)
		d.count += below.count
	}
	listing = append(listing, `],"files":[`...)
	for i, name := range slices.Sorted(maps.Keys(f.files)) {
		entry(i, name, fmt.Sprintf("%x", f.files[name].md5), f.files[name].size)
		d.count++
	}
	d.md5 = md5.Sum(append(listing, "]}"...))
	return d
}

// quoted returns a name as a JSON string in ASCII, spelled as Python does.
func quoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range name {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r == 0x7f:
			b.WriteByte(0x7f)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b.WriteString(escape(high) + escape(low))
		default:
			b.WriteString(escape(r))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func escape(r rune) string {
	text := strconv.FormatInt(int64(r), 16)
	return `\u` + strings.Repeat("0", 4-len(text)) + text
}
