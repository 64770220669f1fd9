// SPDX-License-Identifier: Apache-2.0

// Package fits finds the images of FITS files. Sections are those of the FITS Standard,
// version 4.0.
//
// The primary image is called "primary", an extension as its keyword EXTNAME says, with
// its EXTVER if that is not 1, such as "SCI_2". Without a name that an array can have, or
// with that of an earlier one, it is "hdu_" and its number; the primary one has number 0.
//
// Values are those in the file. The keywords BSCALE, BZERO and BLANK, which say what they
// mean, are attributes, as are all keywords that do not describe the layout. Those of a
// header without an image are attributes of a group. The primary header has the root.
//
// Tables, compressed images, random groups and foreign extensions are arrays that are
// refused.
package fits

import (
	"bytes"
	"fmt"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// Matches reports whether a file begins as a FITS file does (section 4.4.1.1).
func Matches(f *scan.File) bool { return begins(f, 0, "SIMPLE  =") }

// begins reports whether the bytes at an offset are those of text.
func begins(f *scan.File, at int64, text string) bool {
	b, err := f.Bytes(at, int64(len(text)))
	return err == nil && string(b) == text
}

// Scan finds the images of a FITS file.
func Scan(f *scan.File) (*scan.Dataset, error) {
	s := &scanner{file: f, room: maxHeader, paths: map[string]bool{}}
	s.found = &scan.Dataset{Format: "FITS", Groups: []scan.Group{{}}}
	if !Matches(f) {
		return nil, fmt.Errorf("fits: %w", scan.Corruptf("it does not begin with SIMPLE"))
	}
	// What follows the last extension has no meaning (section 3.5).
	for s.number == 0 || begins(f, s.at, "XTENSION") {
		if err := s.next(); err != nil {
			return nil, fmt.Errorf("fits: header %d, at %d: %w", s.number, s.at, err)
		}
		s.number++
	}
	if err := s.omitRest(); err != nil {
		return nil, fmt.Errorf("fits: %w", err)
	}
	return s.found, nil
}

// omitRest notes what follows the last extension, unless it is the padding of a tape.
func (s *scanner) omitRest() error {
	n := s.file.Size() - s.at
	if n <= 0 {
		return nil
	}
	rest, err := s.file.Bytes(s.at, min(n, blockBytes))
	if err == nil && len(bytes.Trim(rest, "\x00 ")) > 0 {
		s.found.Omit(fmt.Sprintf("after hdu_%d", s.number-1), "%s at %d, which are no extension", quantity.Count(n, "bytes"), s.at)
	}
	return err
}

// scanner goes from header to header.
type scanner struct {
	file   *scan.File
	found  *scan.Dataset
	number int64 // of the next header
	at     int64 // its offset
	room   int64 // bytes of headers that may still be read
	paths  map[string]bool
}

// next reads a header, and moves to the one after its data.
func (s *scanner) next() error {
	h, err := readHeader(s.file, s.at, s.room)
	if err != nil {
		return err
	}
	u := &unit{header: h, number: s.number}
	// SIMPLE = F says that the file departs from the standard (section 4.4.1.1).
	if s.number == 0 && h.values["SIMPLE"] != true {
		return scan.Unsupportedf("SIMPLE is %v: the file does not follow the standard", h.values["SIMPLE"])
	}
	if err := u.measure(); err != nil {
		return err
	}
	s.room -= h.end - s.at
	s.add(u)
	s.at = s.after(u)
	return nil
}

// after returns the offset of the block after the data, or the end of the file.
func (s *scanner) after(u *unit) int64 {
	size := s.file.Size()
	// A file may lack the padding of its last block, or the data, which array refuses.
	if u.size >= size-u.end {
		return size
	}
	return u.end + checked.CeilDiv(u.size, blockBytes)*blockBytes
}

// add adds a unit as an array, or as a group if it has no data.
func (s *scanner) add(u *unit) {
	switch {
	case len(u.axes) > 0:
		s.found.Arrays = append(s.found.Arrays, u.array(s.path(u), s.file.Size()))
	case u.number == 0:
		s.found.Groups[0].Attributes = u.attributes
	default:
		s.found.Groups = append(s.found.Groups, scan.Group{Path: s.path(u), Attributes: u.attributes})
	}
}

// path returns the path of a unit, which no other one has.
func (s *scanner) path(u *unit) string {
	path := "primary"
	if u.number > 0 {
		path = u.header.text("EXTNAME")
		// EXTVER tells extensions of one name apart, such as the SCI of each chip of a
		// camera.
		if n, err := u.header.number("EXTVER", 1); err == nil && n != 1 {
			path = fmt.Sprintf("%s_%d", path, n)
		}
		if !isName(path) || s.paths[path] {
			path = fmt.Sprintf("hdu_%d", u.number)
		}
	}
	for s.paths[path] {
		path += "_"
	}
	s.paths[path] = true
	return path
}

// isName reports whether an array can have a name.
func isName(name string) bool { return nodename.CheckNew(name) == nil }
