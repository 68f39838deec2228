import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;

/**
 * Takes locks of Apache Curator for another process, with the protocol of
 * docs/external-peers.md over loopback sockets. It is one source file for Java 11, started by
 * "java CuratorPeer.java". It needs only Curator on the class path. It ends at the end of its
 * standard input.
 */
public final class CuratorPeer {
    private final String token;
    private final Map<Integer, Client> clients = new ConcurrentHashMap<>();
    private final AtomicInteger numbers = new AtomicInteger();
    private final AtomicBoolean warmed = new AtomicBoolean();

    private CuratorPeer(String token) {
        this.token = token;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        CuratorPeer peer = new CuratorPeer(in.readLine());
        ServerSocket door = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
        daemon("door", () -> {
            while (true) {
                Socket socket = door.accept();
                daemon("connection", () -> peer.serve(socket));
            }
        });
        System.out.println("HELLO peer=curator version=" + version() + " java=" + System.getProperty("java.version")
                + " addr=" + door.getInetAddress().getHostAddress() + " port=" + door.getLocalPort());
        while (in.readLine() != null) {
            // Ignore the content: only the end of the input counts.
        }
        Runtime.getRuntime().halt(0);
    }

    private static String version() throws IOException {
        String name = "/META-INF/maven/org.apache.curator/curator-recipes/pom.properties";
        try (InputStream in = InterProcessMutex.class.getResourceAsStream(name)) {
            Properties p = new Properties();
            if (in != null) {
                p.load(in);
            }
            return p.getProperty("version", "unknown");
        }
    }

    private interface Task {
        void run() throws Exception;
    }

    private static Thread daemon(String name, Task task) {
        Thread t = new Thread(() -> {
            try {
                task.run();
            } catch (Exception e) {
                // The connection is gone, so nobody can receive the error.
            }
        }, name);
        t.setDaemon(true);
        t.start();
        return t;
    }

    /** Serves one connection. Its first line selects the service. */
    private void serve(Socket socket) throws Exception {
        try (Line line = new Line(socket)) {
            Words first = line.read();
            if (first == null || !token.equals(first.get("token"))) {
                return;
            }
            try {
                switch (first.verb) {
                    case "ping":
                        line.write("ok");
                        break;
                    case "client":
                        new Client(first, line).serve();
                        break;
                    case "worker":
                        new Worker(clients.get((int) first.number("client")), first, line).serve();
                        break;
                    case "cell":
                        new Cell(first, line).run();
                        break;
                    default:
                        line.write("error unknown verb " + first.verb);
                }
            } catch (Exception | Error e) { // for example a missing class
                line.write("error " + said(e));
            }
        }
    }

    private static String said(Throwable e) {
        return e.toString().replaceAll("\\s+", " ");
    }

    /** The words of a line: a verb, then positional words and key=value, the values URL-encoded. */
    private static final class Words {
        final String verb;
        final List<String> rest = new ArrayList<>();
        private final Map<String, String> values = new HashMap<>();

        Words(String text) {
            String[] words = text.trim().split(" +");
            verb = words[0];
            for (String word : Arrays.asList(words).subList(1, words.length)) {
                int i = word.indexOf('=');
                if (i < 0) {
                    rest.add(word);
                } else {
                    values.put(word.substring(0, i), URLDecoder.decode(word.substring(i + 1), StandardCharsets.UTF_8));
                }
            }
        }

        String get(String key) {
            return values.getOrDefault(key, "");
        }

        long number(String key) {
            String text = get(key);
            return text.isEmpty() ? 0 : Long.parseLong(text);
        }

        long number(int i) {
            return Long.parseLong(rest.get(i));
        }
    }

    /** One connection, lines of text. Any thread may write. */
    private static final class Line implements AutoCloseable {
        private final Socket socket;
        private final BufferedReader in;
        private final PrintWriter out;

        Line(Socket socket) throws IOException {
            this.socket = socket;
            socket.setTcpNoDelay(true);
            in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            out = new PrintWriter(socket.getOutputStream(), false, StandardCharsets.UTF_8);
        }

        Words read() throws IOException {
            String text = in.readLine();
            return text == null ? null : new Words(text);
        }

        synchronized void write(String text) {
            out.print(text + "\n");
            out.flush();
        }

        /** Like write, but without a flush. */
        synchronized void append(String text) {
            out.print(text + "\n");
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static CuratorFramework framework(Words w) {
        CuratorFrameworkFactory.Builder b = CuratorFrameworkFactory.builder()
                .connectString(w.get("connect"))
                .sessionTimeoutMs((int) w.number("session_ms"))
                .connectionTimeoutMs((int) Math.min(w.number("session_ms"), 10000))
                .retryPolicy(new ExponentialBackoffRetry(100, 3));
        if (!w.get("trust").isEmpty()) {
            ZKClientConfig secure = new ZKClientConfig();
            secure.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
            secure.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
            secure.setProperty("zookeeper.ssl.trustStore.location", w.get("trust"));
            secure.setProperty("zookeeper.ssl.trustStore.type", "PEM");
            b.zookeeperFactory((connect, timeout, watcher, readOnly) ->
                    new ZooKeeper(connect, timeout, watcher, readOnly, secure));
        }
        if (!w.get("user").isEmpty()) {
            String id = w.get("user") + ":" + w.get("password");
            b.authorization("digest", id.getBytes(StandardCharsets.UTF_8)).aclProvider(new ACLProvider() {
                @Override
                public List<ACL> getDefaultAcl() {
                    return ZooDefs.Ids.CREATOR_ALL_ACL;
                }

                @Override
                public List<ACL> getAclForPath(String path) {
                    return ZooDefs.Ids.CREATOR_ALL_ACL;
                }
            });
        }
        CuratorFramework f = b.build();
        f.start();
        return f;
    }

    private static void connected(CuratorFramework f, Words w) throws Exception {
        if (!f.blockUntilConnected((int) w.number("wait_ms"), TimeUnit.MILLISECONDS)) {
            throw new IOException("no session with ZooKeeper at " + w.get("connect"));
        }
    }

    /** One lock object, or the two objects of a read-write lock. */
    private static final class Lock {
        final InterProcessLock exclusive;
        final InterProcessLock shared; // null if readers do not share

        Lock(String recipe, CuratorFramework f, String path) {
            switch (recipe) {
                case "mutex":
                    exclusive = new InterProcessMutex(f, path);
                    shared = null;
                    break;
                case "semaphore":
                    exclusive = new InterProcessSemaphoreMutex(f, path);
                    shared = null;
                    break;
                case "rw":
                    InterProcessReadWriteLock rw = new InterProcessReadWriteLock(f, path);
                    exclusive = rw.writeLock();
                    shared = rw.readLock();
                    break;
                default:
                    throw new IllegalArgumentException("unknown recipe " + recipe);
            }
        }
    }

    /** One CuratorFramework, and so one session, for all workers with its name. */
    private final class Client {
        final int number = numbers.incrementAndGet();
        final Words how;
        final Line line;
        final CuratorFramework framework;
        final Lock instance; // common to all workers; null if each has its own
        final Map<Integer, Worker> workers = new ConcurrentHashMap<>();
        final AtomicInteger epoch = new AtomicInteger(1); // counts the sessions

        Client(Words how, Line line) throws Exception {
            this.how = how;
            this.line = line;
            framework = CuratorPeer.framework(how);
            try {
                connected(framework, how);
                instance = how.get("mode").equals("instance") ? lock() : null;
                framework.getConnectionStateListenable().addListener((f, state) -> {
                    if (state == ConnectionState.LOST) {
                        line.write("lost " + epoch.getAndIncrement());
                    }
                });
                if (warmed.compareAndSet(false, true)) {
                    warmUp(how.number("warmup_ms") * 1000000);
                }
            } catch (Exception | Error e) {
                framework.close();
                throw e;
            }
            clients.put(number, this);
        }

        /** Lets the compiler optimize the lock: two threads contend for another one. */
        private void warmUp(long ns) throws Exception {
            String path = how.get("path") + "-warm-up";
            long end = System.nanoTime() + ns;
            Task turns = () -> {
                Lock lock = new Lock(how.get("recipe"), framework, path);
                while (System.nanoTime() < end) {
                    lock.exclusive.acquire();
                    lock.exclusive.release();
                }
            };
            Thread caller = Thread.currentThread();
            Thread other = daemon("warm-up", () -> {
                try {
                    turns.run();
                } catch (Exception | Error e) { // it may hold the lock
                    caller.interrupt();
                    throw e;
                }
            });
            turns.run();
            other.join();
            if (ns > 0) {
                sweep(path);
            }
        }

        Lock lock() {
            return new Lock(how.get("recipe"), framework, how.get("path"));
        }

        void serve() throws Exception {
            boolean asked = false;
            try {
                line.write("ok " + number);
                for (Words w = line.read(); w != null; w = line.read()) {
                    if (w.verb.equals("close")) {
                        asked = true;
                        break;
                    }
                    Worker worker = workers.get((int) w.number(0)); // "cancel"
                    if (worker != null) {
                        worker.cancel(w.number(1));
                    }
                }
            } finally {
                clients.remove(number);
                for (Worker w : workers.values()) {
                    w.thread.interrupt();
                }
                if (asked) {
                    sweep(how.get("path"));
                }
                framework.close();
            }
            line.write("closed");
        }

        /** Removes the unused nodes of the lock at path. */
        private void sweep(String path) {
            for (String below : how.get("recipe").equals("semaphore") ? new String[] {"/locks", "/leases", ""} : new String[] {""}) {
                try {
                    if (framework.getZookeeperClient().isConnected()) {
                        framework.delete().forPath(path + below);
                    }
                } catch (Exception e) {
                    // The node is in use, or gone.
                }
            }
        }
    }

    /** One worker, whose thread owns the locks that it takes. */
    private static final class Worker {
        final Client client;
        final int number;
        final Line line;
        final Lock lock;
        final Thread thread = Thread.currentThread();
        private long current; // request under way, 0 for none
        private long cancelled; // last cancelled request, with all before it
        private int exclusive; // number of holds
        private int shared;

        Worker(Client client, Words how, Line line) {
            if (client == null) {
                throw new IllegalArgumentException("unknown client " + how.get("client"));
            }
            this.client = client;
            this.line = line;
            number = (int) how.number("worker");
            lock = client.instance != null ? client.instance : client.lock();
        }

        void serve() throws Exception {
            client.workers.put(number, this);
            try {
                line.write("ok");
                for (Words w = line.read(); w != null; w = line.read()) {
                    line.write(answer(w));
                }
            } finally {
                client.workers.remove(number, this);
                leave();
            }
        }

        private String answer(Words w) {
            try {
                switch (w.verb) {
                    case "lock":
                        return acquire(lock.exclusive, w.number(0), w.number(1));
                    case "rlock":
                        return acquire(lock.shared, w.number(0), w.number(1));
                    case "unlock":
                        lock.exclusive.release();
                        exclusive--;
                        return "ok";
                    case "runlock":
                        lock.shared.release();
                        shared--;
                        return "ok";
                    default:
                        return "error unknown verb " + w.verb;
                }
            } catch (Exception | Error e) { // reports an Error too, instead of closing the connection
                return "error " + said(e);
            }
        }

        /** Waits up to wait milliseconds for l, without a limit if wait is negative. */
        private String acquire(InterProcessLock l, long request, long wait) throws Exception {
            int epoch = client.epoch.get();
            if (!begin(request)) {
                return "cancelled";
            }
            try {
                if (wait < 0) {
                    l.acquire();
                } else if (!l.acquire(wait, TimeUnit.MILLISECONDS)) {
                    return "timeout";
                }
            } catch (Exception e) {
                if (wasCancelled(request)) {
                    return "cancelled";
                }
                throw e;
            } finally {
                end();
            }
            if (l == lock.exclusive) {
                exclusive++;
            } else {
                shared++;
            }
            return "ok " + epoch;
        }

        private synchronized boolean begin(long request) {
            current = request;
            return cancelled < request;
        }

        private synchronized void end() {
            current = 0;
            Thread.interrupted(); // discards a cancel that came too late
        }

        private synchronized boolean wasCancelled(long request) {
            return cancelled >= request;
        }

        synchronized void cancel(long request) {
            cancelled = Math.max(cancelled, request);
            if (current != 0 && current <= request) {
                thread.interrupt();
            }
        }

        /** Releases the locks of a worker that is gone. */
        private void leave() throws Exception {
            for (; exclusive > 0; exclusive--) {
                lock.exclusive.release();
            }
            for (; shared > 0; shared--) {
                lock.shared.release();
            }
        }
    }

    /** A complete measurement in this process: n threads in a closed loop. */
    private static final class Cell {
        private final Words how;
        private final Line line;
        private final List<CuratorFramework> frameworks = new ArrayList<>();
        private final List<Turns> workers = new ArrayList<>();
        private volatile boolean stop;

        Cell(Words how, Line line) {
            this.how = how;
            this.line = line;
        }

        void run() throws Exception {
            try {
                open();
                measure();
            } finally {
                stop = true;
                frameworks.parallelStream().forEach(CuratorFramework::close);
            }
            for (Turns t : workers) {
                t.report();
            }
            line.write("done");
        }

        private void open() throws Exception {
            String mode = how.get("mode");
            int n = (int) how.number("workers");
            int sessions = mode.equals("session") ? n : 1;
            for (int i = 0; i < sessions; i++) {
                frameworks.add(framework(how));
            }
            for (CuratorFramework f : frameworks) {
                connected(f, how);
            }
            Lock instance = null;
            for (int i = 0; i < n; i++) {
                if (instance == null || !mode.equals("instance")) {
                    instance = new Lock(how.get("recipe"), frameworks.get(i % sessions), how.get("path"));
                }
                workers.add(new Turns(i, instance.exclusive, how.number("hold_ns"), how.number("think_ns")));
            }
        }

        private void measure() throws Exception {
            for (Turns t : workers) {
                t.start();
            }
            until(System.nanoTime() + how.number("warm_ms") * 1000000);
            long open = System.nanoTime();
            line.write("open " + open);
            until(open + how.number("run_ms") * 1000000);
            line.write("close " + System.nanoTime());
            stop = true;
            long end = System.nanoTime() + how.number("drain_ms") * 1000000;
            for (Turns t : workers) {
                t.join(Math.max(1, (end - System.nanoTime()) / 1000000));
            }
            int stuck = 0;
            for (Turns t : workers) {
                if (t.isAlive()) {
                    stuck++;
                    t.interrupt();
                }
            }
            line.write("drained " + stuck);
            for (Turns t : workers) {
                t.join(1000);
            }
        }

        private static void until(long t) {
            for (long left = t - System.nanoTime(); left > 0; left = t - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }

        /** One worker of a cell. Only its thread uses the log until it ends. */
        private final class Turns extends Thread {
            private final int number;
            private final InterProcessLock lock;
            private final long hold;
            private final long think;
            private long[] log = new long[3 * 4096]; // three times per acquisition
            private int n;

            Turns(int number, InterProcessLock lock, long hold, long think) {
                super("worker " + number);
                setDaemon(true);
                this.number = number;
                this.lock = lock;
                this.hold = hold;
                this.think = think;
            }

            @Override
            public void run() {
                try {
                    while (!stop) {
                        turn();
                    }
                } catch (Exception | Error e) { // it may hold the lock, so others would wait
                    line.write("failed " + number + " " + said(e));
                    stop = true;
                    workers.forEach(Thread::interrupt);
                }
            }

            private void turn() throws Exception {
                long requested = System.nanoTime();
                lock.acquire();
                long acquired = System.nanoTime();
                if (hold > 0) {
                    until(acquired + hold);
                }
                long releasing = System.nanoTime();
                lock.release();
                if (n + 3 > log.length) {
                    log = Arrays.copyOf(log, 2 * log.length);
                }
                log[n++] = requested;
                log[n++] = acquired;
                log[n++] = releasing;
                if (think > 0) {
                    until(System.nanoTime() + think);
                }
            }

            void report() {
                if (isAlive()) {
                    return;
                }
                for (int i = 0; i < n; i += 3) {
                    line.append("turn " + number + " " + log[i] + " " + log[i + 1] + " " + log[i + 2]);
                }
            }
        }
    }
}
