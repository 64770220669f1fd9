// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"io"
	"sync"
)

// openings are stores of folders that are opened once, when they are first needed.
type openings struct {
	mu sync.Mutex
	of map[string]*opening // by the location of the folder
}

// opening is a store that is opened once. Its gate is held while it is opened, so that
// other folders need not wait for this one.
type opening struct {
	gate gate
	done bool
	at   site
}

// site returns the store of a folder. An error is not kept: it may be that of a caller
// who has given up.
func (o *openings) site(ctx context.Context, location string, open func() (site, error)) (site, error) {
	o.mu.Lock()
	if o.of == nil {
		o.of = map[string]*opening{}
	}
	x := o.of[location]
	if x == nil {
		x = &opening{gate: newGate()}
		o.of[location] = x
	}
	o.mu.Unlock()
	if err := x.gate.lock(ctx); err != nil {
		return site{}, err
	}
	defer x.gate.unlock()
	if x.done {
		return x.at, nil
	}
	at, err := open()
	if err == nil {
		x.at, x.done = at, true
	}
	return at, err
}

// close closes the stores.
func (o *openings) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, x := range o.of {
		if c, ok := x.at.store.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	clear(o.of)
	return errors.Join(errs...)
}
