#if canImport(SwiftUI)
  import CampanileLodge
  import Foundation
  import SwiftUI

  /// The lodge's meetings and percentages, also without a network.
  @main struct LodgeApp: App {
    @State private var lodge = LodgeApp.makeLodge()

    var body: some Scene {
      WindowGroup {
        NavigationStack {
          if lodge.needsSignIn {
            SignInView(lodge: lodge)
          } else {
            MeetingsView(lodge: lodge)
          }
        }
      }
    }

    static func makeLodge() -> LodgeModel {
      let folder = FileManager.default.temporaryDirectory
      #if canImport(Security)
        let store = KeychainCredentialStore(service: "api.example", accessGroup: nil, folder: folder)
      #else
        let store = FileCredentialStore(path: folder.appendingPathComponent("session").path)
      #endif
      let session = LodgeSession(store)
      let campanile = Campanile(URL(string: "https://api.example")!, credentials: session.credentials)
      let outbox = Outbox(path: folder.appendingPathComponent("outbox").path, reconnect: campanile.reconnect)
      let lodge = LodgeModel(campanile, session: session, folder: folder, outbox: outbox)
      Task { try await outbox.run(through: campanile.caller) }
      #if canImport(BackgroundTasks) && !os(macOS)
        BackgroundRefresh.register("com.example.lodge.refresh", every: 3_600) { try await lodge.refresh() }
      #endif
      return lodge
    }
  }

  struct SignInView: View {
    let lodge: LodgeModel
    @State private var name = ""
    @State private var pin = ""
    @State private var message = ""

    var body: some View {
      Form {
        Picker("Fratello", selection: $name) {
          ForEach(lodge.roster.membersByDegree, id: \.id) { member in
            Text("\(member.degree.icon) \(member.name)").tag(member.name)
          }
        }
        TextField("Nome", text: $name)
        SecureField("PIN", text: $pin)
        Button("Accedi") {
          Task {
            do {
              try await lodge.signIn(name: name, pin: pin)
            } catch {
              message = (error as? RPCError)?.message ?? "\(error)"
            }
          }
        }
        Text(message).font(.caption)
      }
      .navigationTitle("Kilwinning")
    }
  }

  struct MeetingsView: View {
    let lodge: LodgeModel

    var body: some View {
      List {
        if let statistics = lodge.statistics(year: 0) {
          Section("Presenze") {
            HStack {
              Text("\(statistics.percentage) %").foregroundStyle(color(statistics.level))
              Text("\(statistics.fraction), consecutive \(statistics.currentStreak)").font(.caption)
            }
          }
        }
        Section("Prossime tornate") {
          ForEach(lodge.upcoming, id: \.id) { meeting in
            HStack {
              Text(meeting.discussion)
              Spacer()
              if lodge.isPending(meeting.id) { Label("In attesa", systemImage: "clock") }
              Button(lodge.status(of: meeting.id) == .present ? "Presente" : "Conferma") {
                lodge.confirm(meeting.id, present: lodge.status(of: meeting.id) != .present)
              }
            }
          }
        }
        Section("Fratelli") {
          ForEach(lodge.summaries, id: \.memberId) { summary in
            HStack {
              Text("\(summary.degree.icon) \(summary.name)")
              Spacer()
              Text("\(summary.statistics?.percentage ?? 0) %")
                .foregroundStyle(color(summary.statistics?.level ?? .low))
            }
          }
        }
        ForEach(lodge.refused) { refusal in
          Button("\(refusal.error.message) (\(refusal.error.reason))") { lodge.dismiss(refusal) }
        }
      }
      .navigationTitle(lodge.isStale ? "Tornate (offline)" : "Tornate")
      .refreshable { try? await lodge.refresh() }
      .task { await lodge.run() }
    }

    private func color(_ level: PercentageLevel) -> Color { Color(hex: level.colorHex) ?? .primary }
  }

  extension Color {
    /// A colour of the form `#RRGGBB`.
    init?(hex: String) {
      guard let value = UInt32(hex.dropFirst(), radix: 16) else { return nil }
      self.init(
        red: Double(value >> 16) / 255, green: Double(value >> 8 & 0xFF) / 255, blue: Double(value & 0xFF) / 255)
    }
  }
#endif
