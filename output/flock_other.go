//go:build !unix || solaris || aix

package output

import (
	"errors"
	"os"
)

func flock(*os.File) error { return errors.ErrUnsupported }
