/*
 * A web server on lwIP's raw API, an independent TCP, at a TAP device.
 *
 *     server DEVICE IPV4 IPV6 DELAY_MS BYTES
 *
 * Answers every request with a page of BYTES bytes. Frames reach lwIP after DELAY_MS, the RTT of the
 * path. The server prints a line once it listens.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/netif.h"
#include "lwip/tcp.h"
#include "lwip/tcpip.h"

#define FRAME_MAX 1600
#define UNDER_WAY_MAX 4096

static int tap;
static int page_bytes;
static char *page;

struct client {
	int ends;	/* how much of the empty line behind a request's head has come */
	int written;	/* of the page; -1 before the request */
};

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void say_on(struct tcp_pcb *pcb, struct client *client)
{
	while (client->written >= 0 && client->written < page_bytes) {
		int room = tcp_sndbuf(pcb), left = page_bytes - client->written;
		int len = left < room ? left : room;

		if (len == 0 || tcp_write(pcb, page + client->written, len, 0) != ERR_OK)
			break;
		client->written += len;
	}
	tcp_output(pcb);
}

static err_t on_sent(void *client, struct tcp_pcb *pcb, u16_t len)
{
	(void)len;
	say_on(pcb, client);
	return ERR_OK;
}

static err_t on_received(void *data, struct tcp_pcb *pcb, struct pbuf *bytes, err_t error)
{
	static const char end[] = "\r\n\r\n";
	struct client *client = data;
	int i;

	(void)error;
	if (!bytes) {
		tcp_arg(pcb, NULL);
		tcp_sent(pcb, NULL);
		free(client);
		return tcp_close(pcb);
	}
	for (i = 0; i < bytes->tot_len && client->ends < 4; i++) {
		char next = (char)pbuf_get_at(bytes, i);

		client->ends = next == end[client->ends] ? client->ends + 1 : next == '\r';
	}
	if (client->ends == 4 && client->written < 0)
		client->written = 0;
	tcp_recved(pcb, bytes->tot_len);
	pbuf_free(bytes);
	say_on(pcb, client);
	return ERR_OK;
}

/* The connection is gone, by a reset. */
static void on_error(void *client, err_t error)
{
	(void)error;
	free(client);
}

static err_t on_client(void *data, struct tcp_pcb *pcb, err_t error)
{
	struct client *client = calloc(1, sizeof(*client));

	(void)data, (void)error;
	if (!client)
		return ERR_MEM;
	client->written = -1;
	tcp_arg(pcb, client);
	tcp_recv(pcb, on_received);
	tcp_sent(pcb, on_sent);
	tcp_err(pcb, on_error);
	return ERR_OK;
}

static err_t send_frame(struct netif *netif, struct pbuf *packet)
{
	char frame[FRAME_MAX];
	u16_t len = pbuf_copy_partial(packet, frame, sizeof(frame), 0);

	(void)netif;
	return write(tap, frame, len) == len ? ERR_OK : ERR_IF;
}

static err_t set_up(struct netif *netif)
{
	static const u8_t address[ETH_HWADDR_LEN] = { 0x02, 0, 0, 0, 0, 0x4c };

	netif->name[0] = 't';
	netif->name[1] = 'p';
	netif->mtu = 1500;
	netif->hwaddr_len = ETH_HWADDR_LEN;
	memcpy(netif->hwaddr, address, ETH_HWADDR_LEN);
	netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET |
		       NETIF_FLAG_LINK_UP | NETIF_FLAG_MLD6;
	netif->output = etharp_output;
	netif->output_ip6 = ethip6_output;
	netif->linkoutput = send_frame;
	return ERR_OK;
}

static void listen_at(struct netif *netif, const char *ipv4, const char *ipv6)
{
	ip4_addr_t own4, mask, none;
	ip6_addr_t own6;
	s8_t index = 1;
	struct tcp_pcb *pcb;

	if (!ip4addr_aton(ipv4, &own4) || !ip6addr_aton(ipv6, &own6)) {
		fprintf(stderr, "%s and %s: expected an IPv4 and an IPv6 address\n", ipv4, ipv6);
		exit(2);
	}
	IP4_ADDR(&mask, 255, 255, 255, 0);
	ip4_addr_set_zero(&none);
	LOCK_TCPIP_CORE();
	netif_add(netif, &own4, &mask, &none, NULL, set_up, tcpip_input);
	netif_create_ip6_linklocal_address(netif, 1);
	netif_ip6_addr_set_state(netif, 0, IP6_ADDR_PREFERRED);
	netif_add_ip6_address(netif, &own6, &index);
	netif_ip6_addr_set_state(netif, index, IP6_ADDR_PREFERRED);
	netif_set_default(netif);
	netif_set_up(netif);
	pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
	if (!pcb || tcp_bind(pcb, IP_ANY_TYPE, 80) != ERR_OK)
		fail("lwIP");
	pcb = tcp_listen(pcb);
	tcp_accept(pcb, on_client);
	UNLOCK_TCPIP_CORE();
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static void take(struct netif *netif, const char *frame, int len)
{
	struct pbuf *packet = pbuf_alloc(PBUF_RAW, len, PBUF_RAM);

	if (!packet)
		return;
	pbuf_take(packet, frame, len);
	if (netif->input(packet, netif) != ERR_OK)
		pbuf_free(packet);
}

static void serve(struct netif *netif, long long delay_us)
{
	static struct {
		long long due;
		int len;
		char frame[FRAME_MAX];
	} way[UNDER_WAY_MAX];
	unsigned int first = 0, next = 0;

	for (;;) {
		struct pollfd fd = { .fd = tap, .events = POLLIN };
		long long wait_us = first == next ? 1000000 : way[first % UNDER_WAY_MAX].due - now_us();

		poll(&fd, 1, wait_us > 0 ? (int)((wait_us + 999) / 1000) : 0);
		while (next - first < UNDER_WAY_MAX) {
			int len = read(tap, way[next % UNDER_WAY_MAX].frame, FRAME_MAX);

			if (len <= 0)
				break;
			way[next % UNDER_WAY_MAX].len = len;
			way[next % UNDER_WAY_MAX].due = now_us() + delay_us;
			next++;
		}
		for (; first != next && way[first % UNDER_WAY_MAX].due <= now_us(); first++)
			take(netif, way[first % UNDER_WAY_MAX].frame, way[first % UNDER_WAY_MAX].len);
	}
}

int main(int argc, char **argv)
{
	struct ifreq device = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	static struct netif netif;
	int head;

	if (argc != 6) {
		fprintf(stderr, "usage: server DEVICE IPV4 IPV6 DELAY_MS BYTES\n");
		return 2;
	}
	page = malloc(atoi(argv[5]) + 200);
	head = sprintf(page, "HTTP/1.1 200 OK\r\nServer: lwIP\r\nContent-Length: %d\r\n\r\n",
		       atoi(argv[5]));
	memset(page + head, 'x', atoi(argv[5]));
	page_bytes = head + atoi(argv[5]);
	tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	strncpy(device.ifr_name, argv[1], IFNAMSIZ - 1);
	if (tap < 0 || ioctl(tap, TUNSETIFF, &device) < 0)
		fail("/dev/net/tun");
	tcpip_init(NULL, NULL);
	listen_at(&netif, argv[2], argv[3]);
	puts("listening");
	fflush(stdout);
	serve(&netif, atoi(argv[4]) * 1000ll);
}
