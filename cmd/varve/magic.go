package main

import (
	"bytes"
	"fmt"
	"io"

	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/dtype"
)

// magicNPY begins every .npy file.
const magicNPY = "\x93NUMPY"

// peekNPY reports whether the bytes that follow begin as a .npy file does. They can still
// be read. It waits for no more of a stream than it takes to tell.
func (v *values) peekNPY() (bool, error) {
	seen := make([]byte, 0, len(magicNPY))
	for len(seen) < len(magicNPY) && magicNPY[:len(seen)] == string(seen) {
		n, err := v.r.Read(seen[len(seen):cap(seen)])
		seen = seen[:len(seen)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", v.name, err)
		}
	}
	if s, ok := v.r.(io.Seeker); ok { // a file stays one, which tells its length
		if _, err := s.Seek(-int64(len(seen)), io.SeekCurrent); err != nil {
			return false, fmt.Errorf("read %s: %w", v.name, err)
		}
	} else {
		v.r = io.MultiReader(bytes.NewReader(seen), v.r)
	}
	return magicNPY == string(seen), nil
}

// openRaw begins to read bytes that have no header. A .npy file without --format is read
// as what it is, whatever it is called: taken for raw data, its header would become
// values.
func (v *values) openRaw(named bool) (err error) {
	if v.npy, err = v.peekNPY(); err != nil {
		return err
	}
	if v.npy && !named {
		return v.openNPY()
	}
	v.swapped = !dtype.LittleEndian()
	return format.CheckOneLength(v.typ, format.Raw)
}

// rawNPY says of a .npy file that is read as raw data that it is one.
func (v *values) rawNPY() string {
	if !v.npy {
		return ""
	}
	return " (it is a .npy file: without --format raw it is read as one)"
}
