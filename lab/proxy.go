package lab

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

const proxyHelp = `proxy makes a server farther away. It forwards requests from --listen to the server at --to,
and the replies back, in order, each half of --delay later, until it is interrupted.

run --delay does the same to servers that it starts itself. This is for servers of your own,
and for ranks on several hosts: give the address of the proxy as the server's. A run measures
its round trips through it, without a delay in its results; forwarding adds about 0.1 ms. TLS
passes through. The servers of a ZooKeeper ensemble each need one.`

func (p *Program) proxyCommand() *cobra.Command {
	var listen, to string
	var delay time.Duration
	cmd := &cobra.Command{
		Use:     "proxy --listen HOST:PORT --to HOST:PORT --delay D",
		Short:   "Delay the traffic between clients and a server",
		Long:    proxyHelp,
		Example: "  locklab proxy --listen 127.0.0.1:7379 --to 127.0.0.1:6379 --delay 2ms    a Redis 2 ms away",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range []struct{ name, addr string }{{"listen", listen}, {"to", to}} {
				if _, port, err := net.SplitHostPort(f.addr); err != nil || port == "" {
					return usage("--%s is %q: want HOST:PORT, such as 127.0.0.1:7379", f.name, f.addr)
				}
			}
			proxy, err := faultproxy.New(to, faultproxy.Unread, faultproxy.Options{Listen: listen})
			if err != nil {
				return usage("--listen %s: %v", listen, err)
			}
			defer proxy.Close()
			proxy.Delay(faultproxy.Request, delay/2)
			proxy.Delay(faultproxy.Reply, delay-delay/2)
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s, a round trip %v longer\n", proxy.Addr(), to, delay)
			<-cmd.Context().Done()
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "", "address for clients")
	f.StringVar(&to, "to", "", "address of the server")
	f.Var(span(&delay, 0, 0, harness.MaxDelay), "delay", "delay added to each round trip")
	return cmd
}
