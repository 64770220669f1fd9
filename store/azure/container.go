// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// CreateContainer makes a container of an account. It is an error if there is one.
func CreateContainer(ctx context.Context, account, container string, opt *Options) error {
	s, err := Open(account, container, "", opt)
	if err != nil {
		return err
	}
	defer s.Close()
	c := call{method: http.MethodPut, query: url.Values{"restype": {"container"}}}
	if _, err := s.do(ctx, c); err != nil {
		return fmt.Errorf("azure: account %s, container %s: cannot create: %w", account, container, err)
	}
	return nil
}
