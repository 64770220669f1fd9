// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"context"
	"encoding/xml"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// page is one answer to a listing.
type page struct {
	Blobs []struct {
		Name       name
		Properties struct {
			Tag      string `xml:"Etag"`
			Size     int64  `xml:"Content-Length"`
			Modified string `xml:"Last-Modified"`
			Resource string `xml:"ResourceType"`
		}
	} `xml:"Blobs>Blob"`
	Directories []struct{ Name name } `xml:"Blobs>BlobPrefix"`
	Marker      string                `xml:"NextMarker"`
}

// name is the name of a blob. The service escapes those that XML cannot hold.
type name struct {
	Encoded bool   `xml:"Encoded,attr"`
	Text    string `xml:",chardata"`
}

// unusable returns why a name is not that of the blob, or "".
func (n name) unusable() string {
	if !n.Encoded && strings.ContainsRune(n.Text, utf8.RuneError) {
		return "the service does not say what it is called"
	}
	return ""
}

func (n name) String() string {
	if n.Encoded {
		if text, err := url.PathUnescape(n.Text); err == nil {
			return text
		}
	}
	return n.Text
}

// mostPage is the largest number of bytes of a page, which has at most 5000 blobs.
const mostPage = 32 << 20

// List implements [store.Lister]. Entries have sizes, versions and times, which cost
// nothing more.
func (s *Store) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	place := "azure: account " + s.account + ", container " + s.container
	return driver.Pages(place, s.prefix, dir, func(prefix, marker string, yield func(store.Entry, error) bool) (string, bool, error) {
		p, h, err := s.list(ctx, prefix, how&store.Deep != 0, marker)
		if err != nil {
			return "", false, err
		}
		return p.Marker, p.entries(prefix, s.reads.Local(h), yield), nil
	})
}

// list requests a page, and returns it with the headers of the answer, which have the
// time of the service.
func (s *Store) list(ctx context.Context, prefix string, deep bool, marker string) (p page, h http.Header, err error) {
	q := url.Values{"restype": {"container"}, "comp": {"list"}, "maxresults": {"5000"}}
	for name, value := range map[string]string{"prefix": prefix, "marker": marker} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !deep {
		q.Set("delimiter", "/")
	}
	c := call{method: http.MethodGet, query: q}
	err = s.reads.Do(ctx, func(ctx context.Context) error {
		p = page{}
		h, err = s.send(ctx, c, func(body io.Reader) error {
			text, err := io.ReadAll(io.LimitReader(body, mostPage))
			if err != nil {
				return err
			}
			return xml.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &p)
		})
		return err
	})
	return p, h, err
}

// entries yields the entries of a page below a prefix, and reports whether to continue.
// local makes times of the service times of this machine.
func (p page) entries(prefix string, local func(time.Time) time.Time, yield func(store.Entry, error) bool) bool {
	for _, b := range p.Blobs {
		rel, below := strings.CutPrefix(b.Name.String(), prefix)
		// Accounts with a hierarchy of names list directories as blobs. Other programs
		// mark them with empty blobs whose names end with a slash.
		marks := b.Properties.Resource == "directory" || b.Properties.Size == 0 && (rel == "" || strings.HasSuffix(rel, "/"))
		if !below || marks {
			continue
		}
		e := store.Entry{Name: rel, Size: b.Properties.Size, Version: store.MakeVersion(`"` + strings.Trim(b.Properties.Tag, `"`) + `"`), Unusable: b.Name.unusable()}
		if modified, err := http.ParseTime(b.Properties.Modified); err == nil {
			e.Modified = local(modified)
		}
		if !yield(e, nil) {
			return false
		}
	}
	for _, d := range p.Directories {
		rel, below := strings.CutPrefix(strings.TrimSuffix(d.Name.String(), "/"), prefix)
		if below && !yield(store.Entry{Name: rel, Dir: true, Size: -1, Unusable: d.Name.unusable()}, nil) {
			return false
		}
	}
	return true
}
