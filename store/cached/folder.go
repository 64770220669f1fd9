// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"varve.dev/zarr/internal/vfs"
)

// tagName is the file by which programs for backups know a cache
// (https://bford.info/cachedir/).
const tagName = "CACHEDIR.TAG"

// tag is its content. The second line makes the folder a cache of this package.
const tag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# A cache of values that Varve has read, version 1. It may be deleted at any time.\n"

// LeastLimit is the smallest limit of a cache in a folder, in bytes.
const LeastLimit = 1 << 20

// ErrNotCache means that a folder holds something else than a cache.
var ErrNotCache = errors.New("cache: the folder is not a cache of Varve; name a new or an empty folder")

// ErrLimit means that a limit is below [LeastLimit].
var ErrLimit = errors.New("cache: the limit is too small")

// Open opens a cache of at most limit bytes in the folder dir, and makes the folder if it
// is missing. The folder is made private to the user. A folder that holds other files is
// [ErrNotCache].
//
// Processes that use one folder should give the same limit: each keeps to its own.
func Open(dir string, limit int64) (*Cache, error) {
	if limit < LeastLimit {
		return nil, fmt.Errorf("%w: %d bytes; give at least %d", ErrLimit, limit, LeastLimit)
	}
	if err := prepare(dir); err != nil {
		return nil, err
	}
	root, err := vfs.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	if !root.Local() {
		return nil, errors.Join(fmt.Errorf("cache: %s is on a file system without locks; name a folder of a local disk", dir), root.Close())
	}
	return &Cache{shelf: &disk{fs: root, limit: limit, fresh: time.Minute}}, nil
}

// prepare makes the folder a private cache, if it is missing or empty.
func prepare(dir string) error {
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o777); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cache: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w (%s)", ErrNotCache, dir)
	}
	if err := claim(dir); err != nil {
		return err
	}
	// Only a folder that is a cache is changed.
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("cache: %s can be read or changed by other users: %w", dir, err)
		}
	}
	return nil
}

// claim writes the tag into an empty folder.
func claim(dir string) error {
	name := filepath.Join(dir, tagName)
	text, err := readTag(name)
	if err == nil && text == tag {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, listErr := filenames(dir)
	if listErr != nil {
		return fmt.Errorf("cache: %w", listErr)
	}
	// Another process may have begun to write the tag, and may have been ended.
	begun := err == nil && len(names) == 1 && strings.HasPrefix(tag, text)
	if len(names) > 0 && !begun {
		// Or it has written the tag, and more, since it was read.
		if text, err := readTag(name); err == nil && text == tag {
			return nil
		}
		return fmt.Errorf("%w (%s)", ErrNotCache, dir)
	}
	return writeTag(name)
}

// writeTag writes the tag. It never makes a file shorter, because another process may
// have written it by now.
func writeTag(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	_, err = f.WriteString(tag)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

// readTag returns the beginning of the tag. A symbolic link is not followed.
func readTag(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 2*int64(len(tag)) {
		return "", fmt.Errorf("%w (%s)", ErrNotCache, filepath.Dir(name))
	}
	b, err := os.ReadFile(name)
	return string(b), err
}

// filenames returns the first names in a folder.
func filenames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(2)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
