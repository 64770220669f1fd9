// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"

	"varve.dev/zarr/store/httpstore"
)

// What is stored can be read again: a manifest beyond a limit of reading is refused
// before it is written, or where a file makes it so.

// mostNumbers is the number of sources that a manifest may have.
const mostNumbers = 1<<32 - 2

// checkSources returns an error if sources cannot be stored beside others.
func checkSources(list []Source, others int64) error {
	if others+int64(len(list)) > mostNumbers {
		return fmt.Errorf("%w: %d sources, and at most %d are possible", ErrLimit, others+int64(len(list)), int64(mostNumbers))
	}
	for _, s := range list {
		if err := s.checkLength(); err != nil {
			return err
		}
	}
	return nil
}

// checkLength returns an error if the location or the version of a source is too long.
func (s *Source) checkLength() error {
	if len(s.Location) > mostLocation {
		return fmt.Errorf("%w: the location %.60s… of a file has %d bytes, and at most %d are possible; place the manifest nearer to its files, or give them shorter names", ErrLimit, httpstore.Redact(s.Location), len(s.Location), mostLocation)
	}
	if len(s.Version) > mostLocation {
		return fmt.Errorf("%w: the version of %s has %d bytes, and at most %d are possible", ErrLimit, httpstore.Redact(s.Location), len(s.Version), mostLocation)
	}
	return nil
}

// checkChunks returns an error if an array has too many chunks.
func (a *Array) checkChunks() error {
	if n, ok := a.Grid.NumChunks(); !ok || n > mostChunks {
		return fmt.Errorf("%w: %v chunks, and at most %d are possible; make several manifests, or files with longer chunks", ErrLimit, a.Grid.Chunks(), int64(mostChunks))
	}
	return nil
}

// checkDocument returns an error if a document is too long.
func checkDocument(text []byte) error {
	if len(text) > mostDocument {
		return fmt.Errorf("%w: its document has %d bytes, and at most %d are possible; leave out arrays, or make several manifests", ErrLimit, len(text), mostDocument)
	}
	return nil
}

// checkValues returns an error if the values of a coordinate have too many bytes.
func checkValues(n int64) error {
	if n > mostValues {
		return fmt.Errorf("%w: %d bytes of values, and at most %d are possible; make several manifests", ErrLimit, n, mostValues)
	}
	return nil
}

// checkKerchunk returns an error if a file of references has too many bytes.
func checkKerchunk(n int64) error {
	if n > mostKerchunk {
		return fmt.Errorf("%w: the file of references has %d bytes, and at most %d are possible; make a manifest (%s)", ErrLimit, n, mostKerchunk, Suffix)
	}
	return nil
}

// sourcesOfBlock returns how many of a list of sources fit into one block.
func sourcesOfBlock(list []Source) int {
	const numbers = 5 * 10 // bytes of those of a source, at most
	n, size := 0, 0
	for n < min(len(list), mostSources) {
		size += len(list[n].Location) + len(list[n].Version) + numbers
		if size > mostSourceText && n > 0 {
			break
		}
		n++
	}
	return n
}
