// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"errors"
	"fmt"

	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/virtual/scan"
)

// Parse reads references. The result does not refer to text. Parse allocates at most
// about twice the memory of text, and what generators make.
//
// Errors wrap [scan.ErrCorrupt], or [scan.ErrUnsupported] for templates that are programs
// and for what is beyond the limits.
func Parse(text []byte, l Limits) (*References, error) {
	r, err := parse(text, l)
	if err != nil {
		return nil, fmt.Errorf("kerchunk: %w", err)
	}
	return r, nil
}

func parse(text []byte, l Limits) (*References, error) {
	v, err := strictjson.Parse(text, strictjson.Limits{Size: l.document()})
	switch {
	case errors.Is(err, strictjson.ErrLimit):
		return nil, fmt.Errorf("%w: %w", scan.ErrUnsupported, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", scan.ErrCorrupt, err)
	case v.Kind() != strictjson.Object:
		return nil, scan.Corruptf("the references are %s, where an object is needed", v.Kind())
	}
	b := &builder{room: l.generated()}
	if version, ok := v.Member("version"); !ok {
		err = b.addAll(v)
	} else {
		err = b.addVersion1(v, version)
	}
	if err != nil {
		return nil, err
	}
	r := &References{b.list}
	return r, r.sort()
}

// addVersion1 adds the references of a document of version 1.
func (b *builder) addVersion1(v, version strictjson.Value) error {
	if n, err := version.Int64(); err != nil || n != 1 {
		return scan.Unsupportedf("version %s of references; 0 and 1 are known", version.Brief())
	}
	templates, _ := v.Member("templates")
	if err := b.readTemplates(templates); err != nil {
		return err
	}
	refs, _ := v.Member("refs")
	if err := b.addAll(refs); err != nil {
		return err
	}
	generators, _ := v.Member("gen")
	if k := generators.Kind(); k != strictjson.Array && k != strictjson.Null {
		return scan.Corruptf("gen is %s, where an array is needed", k)
	}
	for i, g := range generators.Elements() {
		if err := b.generate(g); err != nil {
			return fmt.Errorf("gen/%d: %w", i, err)
		}
	}
	return nil
}

// readTemplates reads the names of templates and their texts.
func (b *builder) readTemplates(v strictjson.Value) error {
	if k := v.Kind(); k != strictjson.Object && k != strictjson.Null {
		return scan.Corruptf("templates is %s, where an object is needed", k)
	}
	b.templates = map[string]string{}
	for name, t := range v.Members() {
		text, err := t.Str()
		if err != nil {
			return scan.Corruptf("%v", err)
		}
		b.templates[name] = text
	}
	return nil
}
