// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"bufio"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/transfer"
)

// A part is text. The first line says which part it is. Each other line has the sums of
// one value, and what tells whether it was written since. The last line has the number of
// these lines, so that a part that was cut off is noticed. Each line is one JSON object.

// partVersion is the version of the form of a part.
const partVersion = 1

// partHead is the first line of a part.
type partHead struct {
	Version int   `json:"varve_checksums_part"`
	Task    int64 `json:"task"`
	Of      int64 `json:"of"`
	DANDI   bool  `json:"dandi,omitempty"`
}

// share returns which part it is.
func (h *partHead) share() transfer.Share { return transfer.Share{Task: h.Task, Of: h.Of} }

// partLine is a line of a part: a value, or the last line, whose key is "".
type partLine struct {
	Key      string `json:"key,omitempty"`
	Size     int64  `json:"size,omitempty"`
	Version  uint64 `json:"version,omitempty"`
	Modified int64  `json:"modified,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	MD5      string `json:"md5,omitempty"`
	Values   *int64 `json:"values,omitempty"` // of the part, in the last line
}

// WritePart reads the values of one share and writes what [Write] and [Compare] need to
// know of them, if [Options.Parts] has all parts. The parts may be written by several
// processes, on several machines, in any order, and also more than once. With
// [Options.DANDI] they also serve for the digest of the DANDI archive.
//
// Each part lists all keys. A part that is not complete, because its process has ended
// early, is refused later. If the share is none, or if the options have parts, the error
// wraps [zarr.ErrInvalidArgument].
func WritePart(ctx context.Context, at *zarr.Location, s transfer.Share, w io.Writer, opt *Options) (Report, error) {
	r := newReader(at, opt)
	var report Report
	if err := copying.CheckShare(s.Task, s.Of); err != nil {
		return report, r.fail("checksums", err)
	}
	if len(r.Parts) > 0 {
		return report, r.fail("checksums", fmt.Errorf("%w: a part is not made of parts", zarr.ErrInvalidArgument))
	}
	s.Of = max(1, s.Of)
	r.share = share(s)
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(partHead{partVersion, s.Task, s.Of, r.DANDI}); err != nil {
		return report, r.fail("checksums", err)
	}
	for v, err := range r.values(ctx) {
		if err == nil {
			err = lines.Encode(r.lineOf(v))
		}
		if err != nil {
			return report, r.fail("checksums", errors.Join(err, out.Flush()))
		}
		report.Values++
		report.Bytes += v.size
	}
	err := lines.Encode(partLine{Values: &report.Values})
	return report, r.fail("checksums", errors.Join(err, out.Flush()))
}

// lineOf returns the line of a value.
func (r *reader) lineOf(v value) partLine {
	l := partLine{Key: v.key, Size: v.size, Version: v.stamp.version, Modified: v.stamp.modified, SHA256: hex.EncodeToString(v.sha256[:])}
	if r.DANDI {
		l.MD5 = hex.EncodeToString(v.md5[:])
	}
	return l
}

// partReader reads one part.
type partReader struct {
	partHead
	scanner *bufio.Scanner
	line    int
}

// newPartReader reads the first line of a part.
func newPartReader(from io.Reader) (*partReader, error) {
	p := &partReader{scanner: bufio.NewScanner(from)}
	p.scanner.Buffer(nil, 2*longestLine)
	text, err := p.next()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &p.partHead); err != nil {
		return nil, p.damaged(fmt.Errorf("not the beginning of a part: %w", err))
	}
	if p.Version > partVersion {
		return nil, fmt.Errorf("%w: a part of version %d, made by a newer version of this package", zarr.ErrUnsupported, p.Version)
	}
	if p.Version != partVersion || p.Of < 1 || copying.CheckShare(p.Task, p.Of) != nil {
		return nil, p.damaged(errors.New("not the beginning of a part"))
	}
	return p, nil
}

// next returns the next line. A part does not end between lines.
func (p *partReader) next() ([]byte, error) {
	p.line++
	if p.scanner.Scan() {
		return p.scanner.Bytes(), nil
	}
	if err := p.failed(); err != nil {
		return nil, err
	}
	return nil, p.damaged(errors.New("it is cut off: write the part again"))
}

// failed returns why there is no next line, or nil at the end.
func (p *partReader) failed() error {
	err := p.scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return p.damaged(err)
	}
	return err // of the reader
}

// damaged returns an error about a line.
func (p *partReader) damaged(err error) error {
	return fmt.Errorf("%w: line %d: %w", zarr.ErrInvalidArgument, p.line, err)
}

// values passes all values of the part to add, up to its first error.
func (p *partReader) values(add func(keyHash, record) error) error {
	for n := int64(0); ; n++ {
		text, err := p.next()
		if err != nil {
			return err
		}
		var l partLine
		if err := json.Unmarshal(text, &l); err != nil {
			return p.damaged(err)
		}
		if l.Key == "" {
			return p.end(l, n)
		}
		key := hashOf(l.Key)
		r, err := l.record(p.DANDI)
		if err == nil && !share(p.share()).contains(key) {
			err = fmt.Errorf("%q belongs to another part", l.Key)
		}
		if err != nil {
			return p.damaged(err)
		}
		if err := add(key, r); err != nil {
			return err
		}
	}
}

// end checks the last line, after n values.
func (p *partReader) end(l partLine, n int64) error {
	if l.Values == nil {
		return p.damaged(errors.New("a value without a key"))
	}
	if *l.Values != n {
		return p.damaged(fmt.Errorf("the part has %s, and lists %d", quantity.Count(*l.Values, "values"), n))
	}
	if p.line++; p.scanner.Scan() {
		return p.damaged(errors.New("there is more after the last line"))
	}
	return p.failed()
}

// record is what a part knows of one value.
type record struct {
	stamp
	sha256 [sha256.Size]byte
	md5    [md5.Size]byte // with DANDI
}

// record returns what the line says.
func (l partLine) record(dandi bool) (record, error) {
	r := record{stamp: stamp{l.Size, l.Version, l.Modified}}
	if l.Size < 0 {
		return r, fmt.Errorf("a size of %d", l.Size)
	}
	err := sum(r.sha256[:], l.SHA256)
	if err == nil && dandi {
		err = sum(r.md5[:], l.MD5)
	}
	return r, err
}

// sum decodes a sum in hexadecimal digits.
func sum(to []byte, text string) error {
	if len(text) != 2*len(to) {
		return fmt.Errorf("a sum of %s, want %d", quantity.Count(len(text), "digits"), 2*len(to))
	}
	_, err := hex.Decode(to, []byte(text))
	return err
}

// share is a part of the values. A hash of the key decides, so a part stays the same when
// values are added or deleted.
type share transfer.Share

// contains reports whether a value belongs to the share.
func (s share) contains(key keyHash) bool {
	return s.Of <= 1 || binary.BigEndian.Uint64(key[:8])%uint64(s.Of) == uint64(s.Task)
}

// keyHash stands for a key. It takes less memory, and has as good as no collisions.
type keyHash [16]byte

// hashOf returns the hash of a key relative to the location.
func hashOf(key string) keyHash {
	sum := sha256.Sum256([]byte(key))
	return keyHash(sum[:16])
}
